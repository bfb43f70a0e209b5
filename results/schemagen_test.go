package results

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// object is a JSON object whose keys keep their order.
type object []keyword

type keyword struct {
	key   string
	value any // object, []any, or what encoding/json writes on one line
}

// with is o with the keywords of more, which take the place of those of o.
func (o object) with(more object) object {
	o = slices.Clone(o)
	for _, m := range more {
		if i := slices.IndexFunc(o, func(old keyword) bool { return old.key == m.key }); i >= 0 {
			o[i] = m
		} else {
			o = append(o, m)
		}
	}
	return o
}

func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(m keyword) bool { return m.key == key })
}

func list[T any](values ...T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}

// generator makes the schema of one record.
type generator struct {
	comments map[string]string // see commentsOf
	rules    map[string]object // what the types do not tell, see schemaRules
	used     map[string]bool   // rules that some field has asked for
	defs     object
}

// schema is the whole schema of a record that is written to the file of this name.
func (g *generator) schema(file, title string, record reflect.Type) object {
	g.defs = nil
	body := g.structure(record)
	o := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "https://github.com/fanoutbench/fanoutbench/results/schema/" + file},
		{"title", title},
	}
	o = append(o, body...)
	if len(g.defs) > 0 {
		o = append(o, keyword{"$defs", g.defs})
	}
	return o
}

// structure has every key of a record and no other; required are those that are
// always written.
func (g *generator) structure(record reflect.Type) object {
	var required []any
	var properties object
	for _, f := range reflect.VisibleFields(record) {
		if !f.IsExported() {
			continue
		}
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || f.Anonymous {
			panic(fmt.Sprintf("%v.%s: want a JSON key, and no embedding", record, f.Name))
		}
		if option == "" {
			required = append(required, key)
		}
		properties = append(properties, keyword{key, g.field(record.Name(), f, key, option == "omitempty")})
	}
	o := g.described(record.Name()).with(object{{"type", "object"}, {"additionalProperties", false}})
	if len(required) > 0 {
		o = append(o, keyword{"required", required})
	}
	return append(o, keyword{"properties", properties}).with(g.rule(record.Name(), ""))
}

func (g *generator) described(name string) object {
	if text := g.comments[name]; text != "" {
		return object{{"description", text}}
	}
	return nil
}

// field: one that is left out where it is empty is never null, and never empty
// where it stands.
func (g *generator) field(record string, f reflect.StructField, key string, omitted bool) object {
	t := f.Type
	if omitted && t.Kind() == reflect.Pointer {
		omitted, t = false, t.Elem()
	}
	o := g.described(record + "." + f.Name).with(g.value(record, key, t))
	if !omitted {
		return o
	}
	if t.Kind() == reflect.Bool {
		return finish(append(o, keyword{"const", true}))
	}
	least := map[reflect.Kind]string{reflect.String: "minLength", reflect.Slice: "minItems", reflect.Map: "minProperties"}[t.Kind()]
	if least != "" && !o.has(least) && !o.has("enum") && !o.has("pattern") {
		o = append(o, keyword{least, 1})
	}
	return o
}

// value is the schema of a value of this type, with what the rules for the key
// add. Keys of elements are those of their list or map with [] or {} behind.
func (g *generator) value(record, key string, t reflect.Type) object {
	rule := g.rule(record, key)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}.with(rule)
	case t.Kind() == reflect.Pointer:
		return nullable(g.value(record, key, t.Elem()))
	case t.Kind() == reflect.Struct:
		return g.reference(t).with(rule)
	case t.Kind() == reflect.Slice:
		return object{{"type", "array"}}.with(rule).with(object{{"items", g.value(record, key+"[]", t.Elem())}})
	case t.Kind() == reflect.Map:
		return object{{"type", "object"}}.with(rule).with(object{{"additionalProperties", g.value(record, key+"{}", t.Elem())}})
	}
	return finish(scalar(t).with(rule))
}

// finish drops what an enum or a const says already.
func finish(o object) object {
	if !o.has("enum") && !o.has("const") {
		return o
	}
	return slices.DeleteFunc(o, func(m keyword) bool { return m.key == "type" })
}

func scalar(t reflect.Type) object {
	switch t.Kind() {
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Float64:
		return object{{"type", "number"}}
	case reflect.Int, reflect.Int64:
		return object{{"type", "integer"}}
	case reflect.Uint64:
		return object{{"type", "integer"}, {"minimum", 0}, {"maximum", uint64(math.MaxUint64)}}
	}
	panic(fmt.Sprintf("no schema for a %v", t))
}

func nullable(o object) object {
	if !o.has("type") {
		return object{{"anyOf", list(o, object{{"type", "null"}})}}
	}
	o = slices.Clone(o)
	for i, m := range o {
		if m.key == "type" {
			o[i].value = list(m.value, "null")
		}
	}
	return o
}

func (g *generator) reference(t reflect.Type) object {
	name := strings.ToLower(t.Name()[:1]) + t.Name()[1:]
	if !g.defs.has(name) {
		at := len(g.defs)
		g.defs = append(g.defs, keyword{key: name})
		g.defs[at].value = g.structure(t)
	}
	return object{{"$ref", "#/$defs/" + name}}
}

// rule looks for RECORD.KEY, KEY, and *_END, where END is behind the last _.
func (g *generator) rule(record, key string) object {
	names := []string{strings.TrimSuffix(record+"."+key, "."), key}
	if i := strings.LastIndex(key, "_"); i >= 0 {
		names = append(names, "*"+key[i:])
	}
	for _, name := range names {
		if rule, ok := g.rules[name]; ok {
			g.used[name] = true
			return rule
		}
	}
	return nil
}

// commentsOf are the comments of the types TYPE in a folder, and of their fields
// TYPE.FIELD: what stands behind the field, or else above it.
func commentsOf(dir string) (map[string]string, error) {
	comments := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool { return comment(n, comments) })
	}
	return comments, nil
}

func comment(n ast.Node, comments map[string]string) bool {
	declaration, ok := n.(*ast.GenDecl)
	if !ok {
		return true
	}
	for _, spec := range declaration.Specs {
		named, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		comments[named.Name.Name] = plainText(declaration.Doc)
		record, ok := named.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range record.Fields.List {
			text := plainText(f.Comment)
			if text == "" {
				text = plainText(f.Doc)
			}
			for _, name := range f.Names {
				comments[named.Name.Name+"."+name.Name] = text
			}
		}
	}
	return false
}

func plainText(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// widest is how long a line may be before the object in it is written on several.
const widest = 140

// render is v in JSON, indented, with what is short on one line.
func render(v any, indent string) string {
	if line := inline(v); len(indent)+len(line) <= widest {
		return line
	}
	var open, end string
	var parts []string
	deeper := indent + "  "
	switch v := v.(type) {
	case object:
		open, end = "{", "}"
		for _, m := range v {
			parts = append(parts, inline(m.key)+": "+render(m.value, deeper))
		}
	case []any:
		open, end = "[", "]"
		parts = filled(v, deeper)
	default:
		return inline(v)
	}
	return open + "\n" + deeper + strings.Join(parts, ",\n"+deeper) + "\n" + indent + end
}

// filled are the lines of a list: as many words on each as it takes, and anything
// else on lines of its own.
func filled(list []any, indent string) []string {
	var lines []string
	for _, e := range list {
		next := render(e, indent)
		last := len(lines) - 1
		if _, word := e.(string); word && last >= 0 && len(indent)+len(lines[last])+2+len(next) < widest {
			lines[last] += ", " + next
		} else {
			lines = append(lines, next)
		}
	}
	return lines
}

func inline(v any) string {
	var parts []string
	switch v := v.(type) {
	case object:
		for _, m := range v {
			parts = append(parts, inline(m.key)+": "+inline(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, e := range v {
			parts = append(parts, inline(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
