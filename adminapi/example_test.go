package adminapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/storage"
)

// everybody lets every caller read. A program that has its own way of knowing
// its users puts it here.
type everybody struct{}

func (everybody) Authenticate(*http.Request) (auth.Identity, error) {
	return auth.Identity{Principal: "user:ann", Role: storage.RoleViewer}, nil
}

// An API is mounted into another program's router. What is not wired in says so.
func ExampleAPI_Mount() {
	api, err := adminapi.New(adminapi.Config{Auth: everybody{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := chi.NewRouter()
	mux.Route("/llmgw", func(r chi.Router) { api.Mount(r) })

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/llmgw/api/v1/audit", nil))
	fmt.Println(w.Code, w.Body)
	// Output:
	// 501 {"error":"this control plane keeps no audit log, so there is no history of changes to show","code":"not_wired"}
}
