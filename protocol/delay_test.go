package protocol

import "testing"

func TestParseDelay(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "1000000": 1_000_000} {
		if got, err := ParseDelay(map[string]string{OptionDelay: text}); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	if got, err := ParseDelay(nil); err != nil || got != 0 {
		t.Errorf("without the option: %d, %v; want 0", got, err)
	}
	for _, text := range []string{"", "0", "-1", "1000001", "1.5", "ten"} {
		if got, err := ParseDelay(map[string]string{OptionDelay: text}); err == nil {
			t.Errorf("%q is taken as %d", text, got)
		}
	}
}
