package protocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

var update = flag.Bool("update", false, "write the golden wire forms anew")

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func bodies() map[string]any {
	temp := 61.5
	status := inventory.ShardStatus{
		ID: "llama-1.0", Model: "llama", Profile: "cpu", State: inventory.ShardFetching, Since: at, Starts: 1,
		Fetch: &inventory.Fetch{Source: "https://h/w.gguf", BytesDone: 5, BytesTotal: 10, BytesPerSecond: 2},
	}
	facts := inventory.Facts{
		Hostname: "n1", MgmtAddr: "10.0.0.1", AgentVersion: "1.2.3", OS: "linux", Arch: "amd64", BootID: "b",
		Features: protocol.Features, Labels: map[string]string{"llmgw.io/rack": "r1"}, MemoryMB: 65536, CPUs: 16,
		ReserveMB: 4096, ReserveCPUs: 2, DiskFreeMB: 100000, DiskTotalMB: 200000,
		Devices:      []inventory.Device{{Index: 0, UUID: "GPU-1", Label: "0", Class: "H100-80", MemoryMB: 81559, NUMA: 0}},
		Engines:      []inventory.Engine{{Name: "llamacpp", Build: "cpu", Version: "b1"}},
		EngineAccess: "loopback",
	}
	return map[string]any{
		"beat": protocol.Beat{
			Node: "n1", Seq: 7, Run: "RUN", Rev: 12, At: at, FactsHash: protocol.Hash(facts), AppliedVersion: 3, EpochSeen: 2,
			Shards: []inventory.ShardStatus{status},
			Sample: &inventory.Sample{CPUPercent: 12.5, Load1: 1, MemoryUsedBytes: 1 << 30, MemoryTotalBytes: 1 << 36, CPUTempC: &temp},
		},
		"beat_bare":      protocol.Beat{Node: "n1", Seq: 8, At: at, FactsHash: "h"},
		"beat_answer":    protocol.BeatAnswer{SeenSeq: 7, Want: protocol.WantFacts, Leader: "https://h:7443"},
		"sync":           protocol.Sync{Node: "n1", Run: "RUN", Rev: 13, Version: 3, Epoch: 2, Facts: &facts, FactsHash: protocol.Hash(facts), Shards: []inventory.ShardStatus{status}},
		"desired":        desired(),
		"answer":         protocol.Answer{ID: "a1", Error: "there is no log", Code: protocol.CodeNoLog},
		"scan_args":      protocol.ScanArgs{HCA: "mlx5_0", Port: 1},
		"scan_result":    protocol.ScanResult{Text: "#\n", Packed: []byte("gz"), TookMS: 330, Error: "cut", By: "mlx5_0/1"},
		"join":           protocol.Join{Token: "llmgw-join-x.y.z", Node: "n1", CSR: "PEM"},
		"renew":          protocol.Renew{CSR: "PEM"},
		"renew_gate":     protocol.Renew{CSR: "PEM", For: protocol.ForGate},
		"certificate":    protocol.Certificate{Cluster: "c", Node: "n1", Certificate: "PEM", CA: "PEM", Control: []string{"https://h:7443"}},
		"error":          protocol.Error{Text: "this control plane does not lead", Code: protocol.CodeNotLeader, Leader: "https://h:7443"},
		"upgrade_args":   protocol.UpgradeArgs{Version: "v1.2.3"},
		"upgrade_result": protocol.UpgradeResult{From: "v1.2.2", To: "v1.2.3", Last: &inventory.Upgrade{From: "v1.2.1", To: "v1.2.2", State: inventory.UpgradeDone, Since: at}},
		"collect_args":   protocol.CollectArgs{Paths: []string{"0123456789abcdef0123456789abcdef"}},
		"collect_result": protocol.CollectResult{Removed: []inventory.RemovedWeights{{Path: "0123456789abcdef0123456789abcdef", Bytes: 10}}, Kept: []inventory.KeptWeights{{Path: "x", Why: "shard m-1.0 has it"}}},
		"fabrictest_args": protocol.FabricTestArgs{
			Role: protocol.FabricTestDial, Secret: "S", Address: "10.0.0.2", Port: 18900, Interface: "ib0", Device: "mlx5_0", DevicePort: 1, Streams: 4, Seconds: 5,
		},
		"fabrictest_report": protocol.FabricTestReport{Address: "10.0.0.2", Port: 18900, Bytes: 9, TookUS: 8, Gbps: 390.5, P50US: 7.5, P99US: 20},
	}
}

func desired() protocol.Desired {
	return protocol.Desired{
		Epoch: 2, Version: 3,
		Shards: []protocol.DesiredShard{{
			Shard: "llama-1.0", Replica: "llama-1", Model: "llama", Profile: "cpu", Want: protocol.WantRun, Rank: 0, Of: 1,
			Devices: []inventory.DeviceShare{{Index: 0, MemoryMB: 1024}}, MemoryMB: 8192, Cores: 4,
			Engine: catalog.EngineLlamaCPP, Build: "cpu", Args: []string{"-fa"}, Env: map[string]string{"A": "b"},
			Context: 4096, Slots: 2, TensorParallel: 1, PipelineParallel: 1, DataParallel: 1,
			Source:    "https://h/w.gguf",
			Files:     []protocol.DesiredFile{{Path: "w.gguf", SHA256: "ab", Bytes: 10, From: []string{"https://h/w.gguf"}}},
			EngineKey: "k", Port: 20001, LeaderAddr: "10.0.0.2", LeaderPort: 19014, HCAs: []string{"mlx5_0:1"},
			Adapters:     []protocol.DesiredFile{{Name: "a", Path: "a.gguf", From: []string{"https://h/a.gguf"}}},
			StartTimeout: 10 * time.Minute, DrainTimeout: 5 * time.Minute,
		}},
		Engines: map[string]string{"llamacpp": "cpu"}, Keep: []string{"w.gguf"},
		Fetch: []protocol.DesiredFetch{{
			Model: "big", Engine: catalog.EngineVLLM, Source: "https://h/big", Files: []protocol.DesiredFile{{Path: "config.json", From: []string{"https://h/big/config.json"}}},
			Adapters: []protocol.DesiredFile{{Name: "law", Path: "law", From: []string{"https://h/law"}}},
		}},
		Asks: []protocol.Ask{{ID: "a1", Kind: protocol.AskLogs, Deadline: at, Args: json.RawMessage(`{"shard":"llama-1.0","tail":10}`)}},
	}
}

// TestGolden holds every body to its form on the wire, which agents and control
// planes of two versions share.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, body := range bodies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.MarshalIndent(body, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the wire form of %s has changed; if that is meant, run with -update:\n%s", name, cmp.Diff(string(want), string(got)))
			}
		})
	}
}

// TestBeatIsSmall holds the beat without a sample to what thousands of nodes may
// send every five seconds.
func TestBeatIsSmall(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(bodies()["beat_bare"])
	if err != nil || len(data) >= 1<<10 {
		t.Errorf("a bare beat has %d bytes, %v", len(data), err)
	}
	data, err = json.Marshal(bodies()["beat"])
	if err != nil || len(data) >= 4<<10 {
		t.Errorf("a beat with a sample has %d bytes, %v", len(data), err)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	a := inventory.Facts{Labels: map[string]string{"a": "1", "b": "2"}}
	b := inventory.Facts{Labels: map[string]string{"b": "2", "a": "1"}}
	if protocol.Hash(a) != protocol.Hash(b) {
		t.Error("equal facts have two hashes")
	}
	if b.CPUs = 1; protocol.Hash(a) == protocol.Hash(b) {
		t.Error("different facts have one hash")
	}
}
