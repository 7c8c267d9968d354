package adminapi

import (
	"cmp"
	"encoding/json"
	"path"
	"reflect"
	"time"
	"unicode"

	"llmgw.io/llmgw/catalog"
)

// schemas makes JSON schemas of Go types. Structs become components, so that
// nested ones are described once.
type schemas struct {
	components object
}

// of is the schema of a type.
func (s *schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[catalog.Duration]():
		return object{"type": []any{"integer", "string"}, "format": "duration", "description": "nanoseconds; a Go duration such as 10m is taken too"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"description": "any JSON value"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int64, reflect.Uint64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.component(t)
	}
	return object{}
}

// component describes a struct once and refers to it.
func (s *schemas) component(t reflect.Type) object {
	name := componentName(t)
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, ok := s.components[name]; ok {
		return ref
	}
	properties, required := object{}, []any{}
	c := object{"type": "object", "properties": properties}
	s.components[name] = c // before its fields, which may lead back here
	docs := fieldDocs(t)
	for _, f := range fieldsOf(t) {
		p := s.of(f.typ)
		if doc := cmp.Or(f.doc, docs[f.name]); doc != "" {
			p["description"] = doc
		}
		properties[f.name] = p
		if !f.optional {
			required = append(required, f.name)
		}
	}
	if len(required) > 0 {
		c["required"] = required
	}
	return ref
}

// componentName is the type's own name; types of other rooms than view carry
// their room's, but for the model definition, which everybody knows by its own.
func componentName(t reflect.Type) string {
	room := path.Base(t.PkgPath())
	if room == "view" || t == reflect.TypeFor[catalog.Model]() {
		return t.Name()
	}
	r := []rune(room)
	r[0] = unicode.ToUpper(r[0])
	return string(r) + t.Name()
}
