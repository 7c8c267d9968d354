package adminapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/catalog"
)

var update = flag.Bool("update", false, "write the golden files anew")

const goldenDocument = "testdata/openapi.golden.json"

func TestDocumentIsGolden(t *testing.T) {
	t.Parallel()
	got, err := Document("golden")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(goldenDocument, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenDocument)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the wire has changed; run the test with -update when that is wanted:\n%s", diff)
	}
}

func TestDocumentHasEveryRow(t *testing.T) {
	t.Parallel()
	b, err := Document("x")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Needs       string `json:"x-llmgw-needs"`
			Scope       string `json:"x-llmgw-scope"`
		}
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	n := 0
	for path, ops := range doc.Paths {
		for method, op := range ops {
			if ids[op.OperationID] {
				t.Errorf("%s %s: the operation %s is there twice", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
			n++
		}
	}
	rows := table()
	for _, r := range rows {
		op, ok := doc.Paths[Base+r.pattern][strings.ToLower(r.method)]
		if !ok || op.Needs != string(r.needs) || op.Scope != string(r.scope) {
			t.Errorf("%s %s: want needs %q and scope %q, got %+v", r.method, r.pattern, r.needs, r.scope, op)
		}
	}
	if want := len(rows) + len([]string{"healthz", "readyz", "metrics"}); n != want {
		t.Errorf("want %d operations, got %d", want, n)
	}
}

// The rules that hold for every row of the table.
func TestTableKeepsItsRules(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, r := range table() {
		id := r.method + " " + r.pattern
		if names[r.name] {
			t.Errorf("%s: the name %s is there twice", id, r.name)
		}
		names[r.name] = true
		if r.summary == "" || r.op == "" || strings.HasSuffix(r.summary, ".") {
			t.Errorf("%s: want an operation, and a summary without a full stop", id)
		}
		if (r.in != nil) != (r.what != "" && r.limit > 0) {
			t.Errorf("%s: a body needs a name and a limit, and only a body", id)
		}
		if (r.out == nil) != (r.media != "") {
			t.Errorf("%s: an answer is JSON of a type, or of a media type", id)
		}
		if r.needs.lacks() == part("?").lacks() && r.needs != noPart {
			t.Errorf("%s: the part %s does not say why it matters", id, r.needs)
		}
		access := strings.HasPrefix(r.pattern, "/keys") || strings.HasPrefix(r.pattern, "/tokens")
		want := auth.Operate
		switch {
		case access:
			want = auth.Owner
		case r.method == http.MethodGet, r.name == "plan.change": // it asks with a body, and changes nothing
			want = auth.Read
		}
		if r.scope != want {
			t.Errorf("%s: want the scope %s, got %s", id, want, r.scope)
		}
	}
}

// A description of a field that is gone helps nobody.
func TestDescribedFieldsAreThere(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[catalog.Model](), reflect.TypeFor[catalog.Profile](), reflect.TypeFor[catalog.GPU](), reflect.TypeFor[catalog.Scaling](),
		reflect.TypeFor[catalog.External](), reflect.TypeFor[catalog.Endpoint](),
	} {
		names := map[string]bool{}
		for _, f := range fieldsOf(typ) {
			names[f.name] = true
		}
		docs := fieldDocs(typ)
		if len(docs) == 0 {
			t.Errorf("%s has no descriptions", typ)
		}
		for name := range docs {
			if !names[name] {
				t.Errorf("%s has no field %s", typ, name)
			}
		}
	}
}
