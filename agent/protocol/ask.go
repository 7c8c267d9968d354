package protocol

import (
	"encoding/json"
	"time"
)

// Ask is the one imperative thing on this wire: a question to one agent, with
// an id and a deadline, answered at PathAnswers.
type Ask struct {
	ID       string          `json:"id"`
	Kind     AskKind         `json:"kind"`
	Deadline time.Time       `json:"deadline"`
	Args     json.RawMessage `json:"args,omitempty"`
}

// AskKind is what is asked. An agent that does not know it answers so.
type AskKind string

const (
	// AskLogs asks for a log; its answer is a stream of bytes.
	AskLogs AskKind = "logs"
	// AskScan asks for a map of the InfiniBand fabric that one port of the node is
	// on ([ScanArgs]). Its answer is a [ScanResult], which may take [ScanTime].
	AskScan AskKind = "fabric-scan"
	// AskFabricTest asks to be one end of a test of what the network between two
	// nodes carries ([FabricTestArgs]). Its answer is a [FabricTestReport].
	AskFabricTest AskKind = "fabric-test"
	// AskUpgrade asks the agent to become another version ([UpgradeArgs]). It is
	// answered when the version was taken, which is not yet running, or refused.
	AskUpgrade AskKind = "upgrade"
)

// Features are the asks that every agent understands, as it lists them in its
// facts. Those that need something of the machine, as AskScan needs a program,
// are listed besides where that is there.
var Features = []string{string(AskLogs), string(AskFabricTest), string(AskCollect)}

// LogsArgs are the arguments of AskLogs.
type LogsArgs struct {
	// Shard whose engine's log is asked for. Empty: the agent's own.
	Shard string `json:"shard,omitempty"`
	// Tail is how many last lines to begin with. Zero: all that is kept. Negative:
	// none, so that what comes is read alone.
	Tail int `json:"tail,omitempty"`
	// Follow goes on with lines as they come, until the deadline.
	Follow bool `json:"follow,omitempty"`
}

// Answer is the body of an answer that is no stream, and of every refusal.
type Answer struct {
	ID    string `json:"id"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	// Code tells a refusal apart of which whoever asked can make something: CodeLimited
	// or CodeNoLog. Empty: none.
	Code   string          `json:"code,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// CodeNoLog refuses an ask for a log that the node does not have.
const CodeNoLog = "no_log"

// HeaderStream marks an answer whose body is the stream itself.
const HeaderStream = "Llmgw-Answer-Stream"
