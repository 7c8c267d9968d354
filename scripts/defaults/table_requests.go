package main

// requestSections are what clients meet.
func requestSections() []section {
	return []section{
		{title: "Requests", rows: []row{
			{what: "request body [limits.body] / header / depth of JSON", value: "{router Body:bytes} / {serve.go headerBytes:bytes} / {router/openai defaultMaxDepth}", same: []string{"{router/openai defaultMaxBytes:bytes}"}, why: "images in a conversation are large; nothing sound is nested deeper"},
			{what: "header comes within / idle connection of a client", value: "{serve.go headerTimeout} / {serve.go idleTimeout}", why: "slow senders hold nothing for long"},
			{what: "client that sends nothing / reads nothing", value: "{router clientBody} / {router clientWrite}", why: "it is gone"},
			{what: "requests that wait for one model [limits.queue]", value: "{router Queue}", why: "each holds a connection and its body"},
			{what: "wait for a place at endpoints that others run and that take `slots` requests at once", value: "{router crowdWait}", why: "clients are told to come again rather than kept"},
			{what: "wait for a model that is being started [limits.cold_wait]", value: "{router ColdWait}", why: "as long as a start may take"},
			{what: "connect to a replica [limits.connect]", value: "{router Connect}", why: "another one is tried then"},
			{what: "first token [limits.first_token]", value: "{router FirstToken}", why: "long prefills are normal"},
			{what: "silence between tokens [limits.idle]", value: "{router Idle}", why: "an engine that says nothing for longer hangs; within a tool call it may be silent for as long as before the first token"},
			{what: "whole answer [limits.total]", value: "{router Total}", why: "nothing lasts for ever"},
			{what: "comment to a silent stream's client [limits.heartbeat]", value: "every {router Heartbeat}", why: "proxies and clients give up on silence"},
			{what: "idle connection to a replica", value: "{router/upstream defaultIdle}", why: "engines close theirs after 5 s, and a request must not meet that"},
			{what: "retries on another replica [limits.retries]", value: "{router Retries}, before the first content byte only", why: "what a client has seen cannot be taken back"},
			{what: "budget of retries", value: "a tenth of the requests, and one a second", holds: "router/retry.go: rate.NewLimiter(1, 10)", why: "a fleet in trouble does not get twice the load"},
			{what: "replica that failed is the last choice for", value: "{router/outlier Cool}", why: "the next request meets a better one"},
			{what: "replica is put out: failures in a row / times slower than its peers, and by at least", value: "{router/outlier Failures}, or one that cannot be reached / {router/outlier Ratio} at the 95th percentile of its first tokens, {router/outlier Slower}", why: "at most half of a model's replicas, and only as the last choice"},
			{what: "for how long, times how often in a row, at most", value: "{router/outlier Ejection}, {router/outlier MostEjection}", why: "what is mended comes back by itself"},
			{what: "replica that has requests and gives nothing is the last choice after", value: "{router/outlier Silent}", why: "it hangs, or prefills: what runs there goes on"},
			{what: "share of a replica that has come, or come back, grows for", value: "{router/outlier SlowStart}", why: "it is cold"},
			{what: "demand, by which a replica is chosen, is that of the last", value: "{router/steer horizon}", why: "ten seconds and five minutes give the same choices but for a hundredth"},
			{what: "beginnings of prompts remembered: blocks of one model / of one prompt", value: "{router/steer blocksOfModel} / {router/steer maxBlocks}", why: "some four megabytes a model; a block is 256 bytes to 16 KiB"},
			{what: "requests that tell how quick a replica is / a step of that for placement / left when so far off / last step", value: "{router/steer enough} / 1.25 times / 0.75 of a step / {placement/reconciler mostPace}", holds: "placement/reconciler/pace.go: PaceStep = 1.25", why: "it parts equal nodes, and single measurements must change no decision"},
			{what: "choices of replicas kept to be explained / replicas in each", value: "{router decisionsKept} / {router optionsKept}", why: "some megabytes; the newest ones, in memory"},
			{what: "end of a stream after its end mark", value: "{router afterDone}", why: "the client has all there is"},
			{what: "largest Retry-After passed on", value: "{router maxRetryAfter}", why: "clients believe it"},
			{what: "probe of a static endpoint: limit / pause", value: "{router probeLimit} / {router probeLeast}, and as much again by chance", why: "others pay for what it costs"},
			{what: "end of the process: running requests of clients / of people get", value: "{serve.go clientGrace} / {serve.go adminGrace}", why: "most streams end within; agents ask again by themselves"},
		}},
		{title: "Keys", rows: []row{
			{what: "a client key from the store is believed for (`KeyTTL`)", value: "{router KeyTTL}; a change made in the same process is in force at once", why: "a look-up for each request is too dear"},
			{what: "an id that is not there is remembered for", value: "{router negativeTTL}", why: "a wrong key that is repeated costs no look-up"},
			{what: "a key is believed while the store is away for", value: "{router keyOutage}", why: "an outage of the store is none of the clients'"},
			{what: "wrong credentials of one address, then 429", value: "{router FailedCredentials} a minute", same: []string{"{adminapi/auth FailuresPerMinute}"}, why: "guessing costs the guesser"},
		}},
		{title: "Usage", rows: []row{
			{what: "rows written ahead are on the disk after", value: "{router syncEvery} or {router syncRows} rows", why: "what a machine that loses its power may lose; a killed process loses none"},
			{what: "rows go to the store after", value: "{router shipEvery} or {router shipRows} rows", why: "one transaction for many"},
			{what: "longest pause while the store is away", value: "{router shipBackOff}", why: "it is not hammered when it comes back"},
			{what: "rows that wait on disk (`Unshipped`)", value: "{router Unshipped:bytes}", why: "an outage of hours; what is more is counted and warned of"},
		}},
		{title: "What is fetched from elsewhere", rows: []row{
			{what: "addresses", value: "public ones, by https, on ports 80 and 443", holds: "internal/safedial/policy.go: []uint16{80, 443}", why: "an address that somebody chose must not reach the machine itself or its network"},
			{what: "redirects / body", value: "{internal/safedial/policy.go MaxRedirects} / {internal/safedial/policy.go MaxBody:bytes}", why: "each redirect is judged anew; downloads of weights set a bound of their own"},
			{what: "connect / TLS / header / silence / whole", value: "{internal/safedial/policy.go DialTimeout} / {internal/safedial/policy.go TLSTimeout} / {internal/safedial/policy.go HeaderTimeout} / {internal/safedial/policy.go StallTimeout} / {internal/safedial/policy.go Timeout}", why: "a slow source holds up nobody else"},
		}},
	}
}
