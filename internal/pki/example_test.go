package pki_test

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/internal/pki"
)

// A machine joins: the control plane makes a token, the machine makes a key and
// a request, the control plane signs, and both know each other from then on.
func Example() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ca, err := pki.NewCA("prod.example", now)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := pki.NewJoinToken(ca.Pin())
	if err != nil {
		fmt.Println(err)
		return
	}

	shown, err := pki.ParseJoinToken(token.Reveal())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("token good:", shown.Matches(token.Hash()))

	_, request, err := pki.NewRequest("gpu-01")
	if err != nil {
		fmt.Println(err)
		return
	}
	certPEM, info, err := ca.SignNode(request, "gpu-01", now, pki.NodeLife)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Peer, "until", info.NotAfter.Format(time.DateTime))

	chain, err := pki.ParseCertificates(certPEM)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("renew at", pki.RenewAt(chain[0], 0).Format(time.DateTime))
	peer, err := ca.Trust().VerifyPeer(chain, now.Add(time.Hour), 0)
	fmt.Println(peer.ID, err)
	// Output:
	// token good: true
	// spiffe://prod.example/node/gpu-01 until 2026-03-02 12:00:00
	// renew at 2026-03-02 04:00:00
	// gpu-01 <nil>
}
