package protocol

// Join asks for a node's first certificate, with a one-time token.
type Join struct {
	// Token is the whole join token, as it was given to a person.
	Token string `json:"token"`
	// Node is the id the machine wants: --name, or the host's name.
	Node string `json:"node"`
	// CSR is PEM. Only its key is used.
	CSR string `json:"csr"`
}

// Renew asks for a new certificate over the node's. Only its key is used.
type Renew struct {
	CSR string `json:"csr"`
	// For is what the certificate shall speak for. Empty: the node itself.
	For CertificateUse `json:"for,omitempty"`
}

// CertificateUse is what a node's certificate speaks for.
type CertificateUse string

// ForGate is a certificate for the gates of a node, which routers ask them for.
const ForGate CertificateUse = "gate"

// Certificate answers Join and Renew. Whoever asked for a gate's looks whether it
// is one: an older control plane knows of none and gives a node's.
type Certificate struct {
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
	// Certificate and CA are PEM.
	Certificate string `json:"certificate"`
	CA          string `json:"ca"`
	// Control are the addresses an agent may use. Empty: the one it used.
	Control []string `json:"control,omitempty"`
}
