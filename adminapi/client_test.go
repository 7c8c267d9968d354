package adminapi_test

import (
	"reflect"
	"testing"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/adminclient"
)

// The typed client has a method for each row of the table, and no other.
func TestClientHasEveryRoute(t *testing.T) {
	t.Parallel()
	methods := map[string]bool{}
	c := reflect.TypeFor[*adminclient.Client]()
	for i := range c.NumMethod() {
		methods[c.Method(i).Name] = true
	}
	if len(methods) == 0 {
		t.Fatal("the client has no methods; the test looks at the wrong type")
	}
	for _, r := range adminapi.Routes() {
		if !methods[r.Operation] {
			t.Errorf("%s %s: the client has no method %s", r.Method, r.Pattern, r.Operation)
		}
		delete(methods, r.Operation)
	}
	for m := range methods {
		t.Errorf("the client's method %s is of no route", m)
	}
}
