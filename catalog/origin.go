package catalog

// Origin is the repository the weights came from, set by serving and updating.
type Origin struct {
	Repo     string    `json:"repo"`
	Revision string    `json:"revision"`
	Previous *Previous `json:"previous,omitempty"`
}

// Previous is what a rollback goes back to.
type Previous struct {
	Revision string `json:"revision"`
	Source   string `json:"source"`
}
