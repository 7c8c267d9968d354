package adminapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// deepest is how far a body may nest.
const deepest = 64

// walk goes through a well-formed body beside the type it is meant for, and
// collects what encoding/json would pass over: unknown fields, fields that are
// there twice or in another case, required ones that are not there.
type walk struct {
	dec         *json.Decoder
	problems    []string
	unknownOnly bool
	tooDeep     bool
}

func newWalk(body []byte) *walk {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return &walk{dec: d, unknownOnly: true}
}

func (w *walk) problem(unknown bool, format string, args ...any) {
	w.unknownOnly = w.unknownOnly && unknown
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// value walks one value; t nil means that anything may stand there.
func (w *walk) value(t reflect.Type, path string, depth int) {
	tok, err := w.dec.Token()
	if err != nil || w.tooDeep {
		return
	}
	d, ok := tok.(json.Delim)
	if !ok {
		return
	}
	if depth >= deepest {
		w.tooDeep = true
		w.problem(false, "it nests deeper than %d levels", deepest)
		return
	}
	t = plainType(t)
	if d == '[' {
		var elem reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		for i := 0; w.more(); i++ {
			w.value(elem, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
	} else {
		w.object(t, path, depth)
	}
	if !w.tooDeep {
		_, _ = w.dec.Token() // the closing one; the body is well formed
	}
}

func (w *walk) more() bool { return !w.tooDeep && w.dec.More() }

// plainType is what stands behind pointers; nil for types that decode
// themselves and for those that take anything.
func plainType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface {
		return nil
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	return t
}

func (w *walk) object(t reflect.Type, path string, depth int) {
	var fields []field
	isStruct := t != nil && t.Kind() == reflect.Struct
	if isStruct {
		fields = fieldsOf(t)
	}
	seen := map[string]bool{}
	for w.more() {
		tok, err := w.dec.Token()
		key, ok := tok.(string)
		if err != nil || !ok {
			return
		}
		at := join(path, key)
		var elem reflect.Type
		switch {
		case seen[key]:
			w.problem(false, "%q is there twice (at byte %d)", at, w.dec.InputOffset())
		case isStruct:
			elem = w.fieldType(fields, key, at)
		case t != nil && t.Kind() == reflect.Map:
			elem = t.Elem()
		}
		seen[key] = true
		w.value(elem, at, depth+1)
	}
	if depth == 0 {
		for _, f := range fields {
			if !f.optional && !seen[f.name] {
				w.problem(false, "%q is missing", f.name)
			}
		}
	}
}

// fieldType finds a field by its exact name.
func (w *walk) fieldType(fields []field, key, at string) reflect.Type {
	names := make([]string, len(fields))
	for i, f := range fields {
		if f.name == key {
			return f.typ
		}
		names[i] = f.name
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, key) })
	switch {
	case i >= 0:
		w.problem(true, "there is no field %q; write it %q (at byte %d)", at, names[i], w.dec.InputOffset())
	case len(names) <= 8:
		w.problem(true, "there is no field %q, only %s (at byte %d)", at, strings.Join(names, ", "), w.dec.InputOffset())
	default:
		w.problem(true, "there is no field %q (at byte %d)", at, w.dec.InputOffset())
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// field is one field of a struct as JSON knows it.
type field struct {
	name     string
	typ      reflect.Type
	optional bool
	doc      string
}

// fieldsOf lists the fields of a struct in their order.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if !f.IsExported() || name == "-" || (f.Anonymous && !tagged) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		opts := strings.Split(options, ",")
		out = append(out, field{
			name: name, typ: f.Type, doc: f.Tag.Get("doc"),
			optional: slices.Contains(opts, "omitempty") || slices.Contains(opts, "omitzero"),
		})
	}
	return out
}
