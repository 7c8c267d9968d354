package reconciler

import (
	"reflect"
	"testing"
	"time"
)

// TestHealthSame: whatever differs between two healths makes them differ, also
// what is added to them later.
func TestHealthSame(t *testing.T) {
	t.Parallel()
	of := reflect.TypeFor[ModelHealth]()
	for i := range of.NumField() {
		var h ModelHealth
		switch f := reflect.ValueOf(&h).Elem().Field(i); f.Interface().(type) {
		case int:
			f.SetInt(1)
		case bool:
			f.SetBool(true)
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(1, 0)))
		case []string:
			f.Set(reflect.ValueOf([]string{"a"}))
		default:
			f.SetString("a")
		}
		if h.same(&ModelHealth{}) {
			t.Errorf("two healths that differ in %s count as the same", of.Field(i).Name)
		}
		if o := h; !h.same(&o) {
			t.Errorf("a health with %s is not the same as itself", of.Field(i).Name)
		}
	}
}
