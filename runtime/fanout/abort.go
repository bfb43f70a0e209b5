package fanout

import (
	"net/http"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// abortReason is the finish reason of a row whose state was evicted, with
// SGLang's keys.
func abortReason(e *detokenizer.EvictedError) wire.Map {
	return wire.Map{
		{Key: "type", Value: "abort"},
		{Key: "message", Value: e.Error()},
		{Key: "status_code", Value: int64(http.StatusInternalServerError)},
		{Key: "err_type", Value: "InternalServerError"},
	}
}

// abortBytes is abortReason as MessagePack.
func abortBytes(e *detokenizer.EvictedError) ([]byte, error) {
	o, err := wire.Wrap(abortReason(e)) // a wrapper's content is the plain encoding
	if err != nil {
		return nil, err
	}
	return o.Data, nil
}
