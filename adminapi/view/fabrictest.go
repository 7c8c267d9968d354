package view

// FabricTestRequest asks for a test of the network between two nodes.
type FabricTestRequest struct {
	From    string `json:"from" doc:"the node that sends"`
	To      string `json:"to" doc:"the node that receives"`
	Fabric  string `json:"fabric,omitempty" doc:"a declared fabric, or the identity of a physical one; absent: an InfiniBand fabric that both are on and have ib_write_bw for, else the way between the management addresses"`
	Seconds int    `json:"seconds,omitempty" doc:"how long is sent, at most 30; absent: 5"`
}

// FabricTestResult is what the network between two nodes carried.
type FabricTestResult struct {
	From         string   `json:"from"`
	To           string   `json:"to"`
	Fabric       string   `json:"fabric,omitempty" doc:"what was tested; absent: the way between the management addresses"`
	Method       string   `json:"method" doc:"tcp or ib_write_bw"`
	Gbps         float64  `json:"gbps" doc:"as the node that receives counted, or as ib_write_bw says"`
	LatencyUSP50 float64  `json:"latency_us_p50" doc:"of a small echo by TCP, both ways; 0 where none was timed, and text says why"`
	LatencyUSP99 float64  `json:"latency_us_p99"`
	ExpectedGbps *float64 `json:"expected_gbps,omitempty" doc:"the rate of the slower port; absent: nobody knows it"`
	OK           bool     `json:"ok" doc:"at least half of the expected by TCP, three quarters by ib_write_bw; without one, that anything came"`
	Text         string   `json:"text"`
}
