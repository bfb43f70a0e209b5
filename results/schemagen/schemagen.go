// Package schemagen makes the JSON Schemas (2020-12) of records: keys, types, what may
// be null and what is required from their Go types, descriptions from the comments of
// types and fields, and the rest from rules. The tests of the packages whose records
// these are keep the schemas fresh with it; no program uses it.
//
// A fault in a record (a field without a key, a type that JSON does not have) is one
// of its author, found by a test: it panics.
package schemagen

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Object is a JSON object whose keys keep their order.
type Object []Keyword

// Keyword is a key and its value: an Object, a []any, or what encoding/json writes on
// one line. It is an array so that rules in other packages can be written short.
type Keyword [2]any

func (k Keyword) key() string { return k[0].(string) }

// With is o with the keywords of more, which take the place of those of o.
func (o Object) With(more Object) Object {
	o = slices.Clone(o)
	for _, m := range more {
		if i := slices.IndexFunc(o, func(old Keyword) bool { return old[0] == m[0] }); i >= 0 {
			o[i] = m
		} else {
			o = append(o, m)
		}
	}
	return o
}

func (o Object) has(key string) bool {
	return slices.ContainsFunc(o, func(m Keyword) bool { return m[0] == key })
}

// List is a list of values.
func List[T any](values ...T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}

// Generator makes the schema of one record.
type Generator struct {
	Base     string            // of $id
	Comments map[string]string // see CommentsOf
	Rules    map[string]Object // what the types do not tell, see rule
	Used     map[string]bool   // rules that some field has asked for
	defs     Object
}

// Schema is the whole schema of a record that is written to the file of this name.
func (g *Generator) Schema(file, title string, record reflect.Type) Object {
	g.defs = nil
	body := g.structure(record)
	o := Object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", g.Base + file},
		{"title", title},
	}
	o = append(o, body...)
	if len(g.defs) > 0 {
		o = append(o, Keyword{"$defs", g.defs})
	}
	return o
}

// structure has every key of a record and no other; required are those that are
// always written.
func (g *Generator) structure(record reflect.Type) Object {
	var required []any
	var properties Object
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
		properties = append(properties, Keyword{key, g.field(record.Name(), f, key, option == "omitempty")})
	}
	o := g.described(record.Name()).With(Object{{"type", "object"}, {"additionalProperties", false}})
	if len(required) > 0 {
		o = append(o, Keyword{"required", required})
	}
	return append(o, Keyword{"properties", properties}).With(g.rule(record.Name(), ""))
}

func (g *Generator) described(name string) Object {
	if text := g.Comments[name]; text != "" {
		return Object{{"description", text}}
	}
	return nil
}

// field: one that is left out where it is empty is never null, and never empty
// where it stands.
func (g *Generator) field(record string, f reflect.StructField, key string, omitted bool) Object {
	t := f.Type
	if omitted && t.Kind() == reflect.Pointer {
		omitted, t = false, t.Elem()
	}
	o := g.described(record + "." + f.Name).With(g.value(record, key, t))
	if !omitted {
		return o
	}
	if t.Kind() == reflect.Bool {
		return finish(append(o, Keyword{"const", true}))
	}
	least := map[reflect.Kind]string{reflect.String: "minLength", reflect.Slice: "minItems", reflect.Map: "minProperties"}[t.Kind()]
	if least != "" && !o.has(least) && !o.has("enum") && !o.has("pattern") {
		o = append(o, Keyword{least, 1})
	}
	return o
}

// value is the schema of a value of this type, with what the rules for the key
// add. Keys of elements are those of their list or map with [] or {} behind.
func (g *Generator) value(record, key string, t reflect.Type) Object {
	rule := g.rule(record, key)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return Object{{"type", "string"}, {"format", "date-time"}}.With(rule)
	case t.Kind() == reflect.Pointer:
		return nullable(g.value(record, key, t.Elem()))
	case t.Kind() == reflect.Struct:
		return g.reference(t).With(rule)
	case t.Kind() == reflect.Slice:
		return Object{{"type", "array"}}.With(rule).With(Object{{"items", g.value(record, key+"[]", t.Elem())}})
	case t.Kind() == reflect.Map:
		return Object{{"type", "object"}}.With(rule).With(Object{{"additionalProperties", g.value(record, key+"{}", t.Elem())}})
	}
	return finish(scalar(t).With(rule))
}

// finish drops what an enum or a const says already.
func finish(o Object) Object {
	if !o.has("enum") && !o.has("const") {
		return o
	}
	return slices.DeleteFunc(o, func(m Keyword) bool { return m[0] == "type" })
}

func scalar(t reflect.Type) Object {
	switch t.Kind() {
	case reflect.String:
		return Object{{"type", "string"}}
	case reflect.Bool:
		return Object{{"type", "boolean"}}
	case reflect.Float64:
		return Object{{"type", "number"}}
	case reflect.Int, reflect.Int64:
		return Object{{"type", "integer"}}
	case reflect.Uint64:
		return Object{{"type", "integer"}, {"minimum", 0}, {"maximum", uint64(math.MaxUint64)}}
	}
	panic(fmt.Sprintf("no schema for a %v", t))
}

func nullable(o Object) Object {
	if !o.has("type") {
		return Object{{"anyOf", List(o, Object{{"type", "null"}})}}
	}
	o = slices.Clone(o)
	for i, m := range o {
		if m[0] == "type" {
			o[i] = Keyword{m[0], List(m[1], "null")}
		}
	}
	return o
}

func (g *Generator) reference(t reflect.Type) Object {
	name := strings.ToLower(t.Name()[:1]) + t.Name()[1:]
	if !g.defs.has(name) {
		at := len(g.defs)
		g.defs = append(g.defs, Keyword{name, nil})
		g.defs[at][1] = g.structure(t)
	}
	return Object{{"$ref", "#/$defs/" + name}}
}

// rule is what a schema says of a key beyond its Go type and comment. It looks for
// RECORD.KEY, KEY where every record means the same by it, and *_END, where END is
// behind the last _; [] and {} behind a key are the elements of a list and of a map; a
// RECORD alone is the whole of it.
func (g *Generator) rule(record, key string) Object {
	names := []string{strings.TrimSuffix(record+"."+key, "."), key}
	if i := strings.LastIndex(key, "_"); i >= 0 {
		names = append(names, "*"+key[i:])
	}
	for _, name := range names {
		if rule, ok := g.Rules[name]; ok {
			g.Used[name] = true
			return rule
		}
	}
	return nil
}

// CommentsOf are the comments of the types TYPE in some folders, and of their fields
// TYPE.FIELD: what stands behind the field, or else above it. Of types of one name
// those of the first folder count.
func CommentsOf(dirs ...string) (map[string]string, error) {
	all := map[string]string{}
	for _, dir := range dirs {
		comments, err := commentsIn(dir)
		if err != nil {
			return nil, err
		}
		known := maps.Clone(all)
		for name, text := range comments {
			record, _, _ := strings.Cut(name, ".")
			if _, ok := known[record]; !ok {
				all[name] = text
			}
		}
	}
	return all, nil
}

func commentsIn(dir string) (map[string]string, error) {
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

// Render is v in JSON, indented, with what is short on one line.
func Render(v any, indent string) string {
	if line := inline(v); len(indent)+len(line) <= widest {
		return line
	}
	var open, end string
	var parts []string
	deeper := indent + "  "
	switch v := v.(type) {
	case Object:
		open, end = "{", "}"
		for _, m := range v {
			parts = append(parts, inline(m.key())+": "+Render(m[1], deeper))
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
		next := Render(e, indent)
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
	case Object:
		for _, m := range v {
			parts = append(parts, inline(m.key())+": "+inline(m[1]))
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
