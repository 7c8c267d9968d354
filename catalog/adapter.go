package catalog

// Adapter is a LoRA adapter over the model's weights; clients address it as a
// model of its name.
type Adapter struct {
	Name   Name   `json:"name"`
	Source string `json:"source"`
}
