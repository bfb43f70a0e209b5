package schemagen

// Rules that many keys have.

// OneOf wants one of these words.
func OneOf(values ...string) Object { return Object{{"enum", List(values...)}} }

// Required wants the key.
func Required(key string) Object { return Object{{"required", List(key)}} }

// AtLeast wants a number of at least this.
func AtLeast(least int) Object { return Object{{"minimum", least}} }

// Between wants a number from least to most.
func Between[T any](least, most T) Object { return Object{{"minimum", least}, {"maximum", most}} }

// Lengths wants a text of least to most bytes; without a most, 0, there is no upper
// end.
func Lengths(least, most int) Object { return ends("minLength", least, "maxLength", most) }

// Items wants a list of least to most elements, likewise.
func Items(least, most int) Object { return ends("minItems", least, "maxItems", most) }

func ends(low string, least int, high string, most int) Object {
	o := Object{{low, least}}
	if most > 0 {
		o = append(o, Keyword{high, most})
	}
	return o
}
