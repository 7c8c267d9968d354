package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// good is a run in which every goal is met, by little.
const good = `{"samples":[
{"Target":"direct","Scenario":"json-c1","P50":20},
{"Target":"goproxy","Scenario":"json-c1","P50":120},{"Target":"llmgw","Scenario":"json-c1","P50":140},
{"Target":"goproxy","Scenario":"json-c32","CPUPerReq":100},{"Target":"llmgw","Scenario":"json-c32","CPUPerReq":129},
{"Target":"llmgw-bare","Scenario":"json-c32","CPUPerReq":79},
{"Target":"llmgw","Scenario":"json-c256","CPUPerReq":160,"UpConns":4,"UpReqs":1000},
{"Target":"goproxy","Scenario":"json-500rps","P99":200},{"Target":"goproxy","Scenario":"json-500rps","P99":100,"Round":1},
{"Target":"llmgw","Scenario":"json-500rps","P99":140},{"Target":"llmgw","Scenario":"json-500rps","P99":900,"Round":1},
{"Target":"goproxy","Scenario":"json-64k-c8","CPUPerReq":100},{"Target":"llmgw","Scenario":"json-64k-c8","CPUPerReq":129},
{"Target":"goproxy","Scenario":"sse-paced-c64","CPUPerReq":100,"Delay50":50},
{"Target":"llmgw","Scenario":"sse-paced-c64","CPUPerReq":99,"Delay50":69,"Idle":40,"Peak":79,"ReadyMS":149}],
"idle":[{"Target":"goproxy","PerStream":50,"Asked":5000,"Good":5000},{"Target":"llmgw","PerStream":29,"Asked":5000,"Good":5000}]}`

const goodFaults = `{"Gone":[{"Route":"chat","Stage":"before the first byte","Trials":9,"Told":9,"P99MS":19}],"Bodies":1.9,"Sent":9,"HeldMS":19}`

func TestReport(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][2]string{
		"all is met":                     {},
		"CPU as shipped":                 {`"json-c32","CPUPerReq":129`, `"json-c32","CPUPerReq":131`},
		"CPU with features off":          {`"CPUPerReq":79`, `"CPUPerReq":81`},
		"the other proxy is missing":     {`{"Target":"goproxy","Scenario":"json-c32"`, `{"Target":"x","Scenario":"json-c32"`},
		"CPU of many clients":            {`"CPUPerReq":160`, `"CPUPerReq":170`},
		"new connections":                {`"UpConns":4`, `"UpConns":6`},
		"added latency":                  {`"P50":140`, `"P50":146`},
		"the 99th percentile":            {`"P99":140`, `"P99":151`},
		"CPU of a long prompt":           {`"json-64k-c8","CPUPerReq":129`, `"json-64k-c8","CPUPerReq":131`},
		"CPU of a chunk":                 {`"CPUPerReq":99`, `"CPUPerReq":101`},
		"delay of a chunk":               {`"Delay50":69`, `"Delay50":71`},
		"memory at start":                {`"Idle":40`, `"Idle":46`},
		"memory at the peak":             {`"Peak":79`, `"Peak":81`},
		"start":                          {`"ReadyMS":149`, `"ReadyMS":151`},
		"a request that failed":          {`"UpConns":4`, `"UpConns":4,"Errors":1`},
		"memory of a stream":             {`"PerStream":29`, `"PerStream":31`},
		"a stream that broke":            {`"PerStream":29,"Asked":5000,"Good":5000`, `"PerStream":29,"Asked":5000,"Good":4999`},
		"a client gone, late":            {`"P99MS":19`, `"P99MS":21`},
		"a client gone, nobody was told": {`"Told":9`, `"Told":8`},
		"memory of a very long prompt":   {`"Bodies":1.9`, `"Bodies":2.1`},
		"a request beside a kill":        {`"Sent":9`, `"Sent":9,"Failed":1`},
		"nobody was killed":              {`"Sent":9`, `"Sent":0`},
		"a request that waited":          {`"HeldMS":19`, `"HeldMS":21`},
	} {
		dir := t.TempDir()
		paths := make([]string, 2)
		for i, text := range []string{good, goodFaults} {
			paths[i] = filepath.Join(dir, []string{"results", "faults"}[i])
			if edit[0] != "" {
				text = strings.Replace(text, edit[0], edit[1], 1)
			}
			if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		met, err := report(&out, paths[0], paths[1])
		if err != nil || met != (edit[0] == "") {
			t.Errorf("%s: met is %v, %v\n%s", name, met, err, out.String())
		}
	}
}
