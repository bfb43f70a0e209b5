package fanout

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// abortReason is the finish reason of a row that cannot be detokenized because of
// err, with SGLang's keys.
func abortReason(rid string, err error) wire.Map {
	return wire.Map{
		{Key: "type", Value: "abort"},
		{Key: "message", Value: abortMessage(rid, err)},
		{Key: "status_code", Value: int64(http.StatusInternalServerError)},
		{Key: "err_type", Value: "InternalServerError"},
	}
}

// abortMessage is for the client: what is wrong with a row's columns tells it
// nothing, and strategies see it differently. The RowError has it.
func abortMessage(rid string, err error) string {
	var evicted *detokenizer.EvictedError
	if errors.As(err, &evicted) {
		return evicted.Error()
	}
	return fmt.Sprintf("rid %q: a row of it cannot be detokenized", rid)
}

// abortBytes is abortReason as MessagePack. Its error is why there is none.
func abortBytes(rid string, cause error) ([]byte, error) {
	o, err := wire.Wrap(abortReason(rid, cause)) // a wrapper's content is the plain encoding
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	return o.Data, nil
}

// unlessEvicted is err, or nil where it says that a row's state was evicted, which
// is no fault of the row.
func unlessEvicted(err error) error {
	var evicted *detokenizer.EvictedError
	if errors.As(err, &evicted) {
		return nil
	}
	return err
}
