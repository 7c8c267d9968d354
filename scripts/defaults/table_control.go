package main

// controlSections are the control plane itself: who leads, who is let in, and
// where things are.
func controlSections() []section {
	return []section{
		{title: "The control plane", rows: []row{
			{what: "lease of the leader / renewal", value: "{storage LeaseLife} / {storage LeaseRenewal}", why: "two renewals may fail"},
			{what: "one that follows asks for the lease", value: "every {placement/control followerPoll}", why: "a dead leader is followed within the lease and this"},
			{what: "least / most time between two looks", value: "{placement/control coalesce} / {placement/control resync}", why: "a burst of changes is one look; a signal that was missed is made good"},
			{what: "decisions made anew in one look", value: "{placement/control maxRetries}", why: "the next change starts another look anyway"},
			{what: "call of the store", value: "{placement/control storeTimeout}", why: "the loop goes on with what it knows"},
			{what: "pause after the store failed", value: "{placement/control firstBackoff}, doubling to {placement/control maxBackoff}", why: "engines run on meanwhile"},
			{what: "connections to PostgreSQL / that read SQLite (`Connections`)", value: "{storage/bunstore/postgres.go Connections} / {storage/bunstore/sqlite.go Connections}", why: "more would wait for each other's locks, and for the disk"},
			{what: "tries of a transaction that lost against others", value: "{storage/bunstore tries}", why: "each one that lost means that another one got through"},
			{what: "SQLite waits for another process", value: "{storage/bunstore busyTimeout} ms", why: "a backup that reads the file"},
		}},
		{title: "Why things were decided", rows: []row{
			{what: "decisions are kept, with what they rest on [limits.journal]", value: "{storage/journalfile Retain}, and at most {storage/journalfile MaxBytes:bytes}", why: "two weeks are what people ask about; the oldest go first"},
			{what: "size of a file of theirs", value: "{storage/journalfile FileBytes:bytes}, or a day", why: "whole files are dropped, and read at a start"},
			{what: "whole state written again", value: "every {placement/replay BaseEvery}, or {placement/replay MaxChange} changes", why: "reading begins there"},
			{what: "disk waited for, at most", value: "every {storage/journalfile SyncEvery}", why: "a loss of power costs seconds of it; a killed process costs nothing"},
			{what: "looks that wait to be written down", value: "{placement/control scribeQueue}", why: "the loop waits for no disk; what finds no place is counted"},
			{what: "pause after the journal failed", value: "{placement/control scribeRetry}", why: "the whole state is written then"},
			{what: "orphans of one node that a step tells of one by one", value: "{placement/reconciler maxOrphansTold}", why: "an agent may report what it likes, and people read the events; of the rest the number is told"},
		}},
		{title: "Certificates and tokens", rows: []row{
			{what: "certificate of a node", value: "{internal/pki NodeLife}", why: "a stolen one is soon worth nothing"},
			{what: "renewal", value: "at two thirds of its life, give or take a tenth", holds: "internal/pki/life.go: life*2/3", why: "a fleet that joined at once does not renew at once"},
			{what: "renewal after expiry", value: "for {internal/pki RenewGrace}, unless revoked", why: "an outage of the control plane must not orphan a fleet"},
			{what: "pause after a failed renewal", value: "{agent/uplink renewRetry}", why: "hours are left"},
			{what: "certificate of the control plane's listener", value: "{internal/pki ServerLife}", why: "it is issued at a start, and renewed by the process itself"},
			{what: "the cluster's authority", value: "{internal/pki caLife}", why: "every node trusts it by its pin"},
			{what: "join token", value: "one use, {adminapi joinLife}", same: []string{"{. joinTokenLife}"}, why: "long enough to type, too short to leave about"},
			{what: "name of the cluster [cluster.name]", value: "{llmgw.go Name}", why: "it is in every certificate, and cannot change later"},
		}},
		{title: "The admin API", rows: []row{
			{what: "body: one field / small / a whole definition", value: "{adminapi oneField:bytes} / {adminapi small:bytes} / {adminapi wholeForm:bytes}", why: "each route takes what it can use"},
			{what: "items of a list / at most", value: "{adminapi usualPage} / {adminapi widestPage}", why: "a page of a large fleet is read, not downloaded"},
			{what: "usage since, where nothing is said", value: "{adminapi usualSince}", why: "a day is what people ask about"},
			{what: "log of an agent begins within / a line is taken within", value: "{adminapi openLog} / {adminapi writeLine}", why: "a reader who is gone holds nothing open"},
		}},
		{title: "Places", rows: []row{
			{what: "clients [listen.client]", value: "{. defaultClient}", why: "all addresses: it asks for keys"},
			{what: "admin API [listen.admin]", value: "{. defaultAdmin}", why: "this machine only, until somebody opens it"},
			{what: "agents [listen.agents]", value: "{. defaultAgents}", why: "all addresses: mutual TLS, with the cluster's own certificates"},
			{what: "data folder [data_dir]", value: "`/var/lib/llmgw` for root, else `llmgw` in `$XDG_STATE_HOME` or `~/.local/state`", holds: `config.go: return "/var/lib/llmgw"`, why: "where systems expect it"},
			{what: "store [store.dsn]", value: "`llmgw.db` in the data folder", holds: `config.go: filepath.Join(f.DataDir, "llmgw.db")`, why: "nothing has to be set up"},
			{what: "pepper [secrets.key_file]", value: "`pepper` in the data folder, mode 0600", holds: `config.go: filepath.Join(f.DataDir, "pepper")`, why: "beside the store's file and not in it: a copy of the store alone opens nothing"},
		}},
	}
}
