package main

import "slices"

// sections is the whole page, in order.
func sections() []section {
	return slices.Concat(fleetSections(), workSections(), networkSections(), gpuSections(), requestSections(), controlSections())
}

// fleetSections are nodes and their engines.
func fleetSections() []section {
	return []section{
		{title: "Nodes", rows: []row{
			{what: "beat of an agent, a request of its own beside the poll", value: "{agent/protocol BeatEvery}", why: "three may be lost before anybody acts"},
			{what: "measurements in a beat", value: "every {agent/protocol SampleEvery}", why: "they are no facts, and cost a look at every device"},
			{what: "poll for the desired state answers after", value: "{agent/protocol PollAfter}; at once on a change", same: []string{"{agent/hub PollAfter}"}, why: "stays under the usual idle limits of proxies"},
			{what: "whole facts, though their hash is the same", value: "every {agent/protocol FactsEvery}", why: "repairs whatever drifted"},
			{what: "largest body on the wire", value: "{agent/protocol MaxFrame:bytes}", why: "a node's whole state is far smaller"},
			{what: "node unreachable [limits.node_unreachable] / lost [limits.node_lost]", value: "{inventory/registry.go UnreachableAfter} / {inventory/registry.go LostAfter} after the last beat", why: "three beats; a minute of silence is more than a slow network, and what ran there is replaced then"},
			{what: "loss brake", value: "at least {placement/reconciler BrakeNodes} nodes and {placement/reconciler BrakePercent} % of those heard, silent within {placement/reconciler BrakeWindow}", why: "a partition is not a fire"},
			{what: "percent of the replicas that move in an hour to make room [limits.moves] / for one that was refused", value: "none; 2 is enough for most / at most {placement/reconciler MovesAtOnce}", holds: "config.go: Moves float64", why: "each move is a start and a drain; a search in vain is repeated after a minute"},
			{what: "the brake is released", value: "{placement/reconciler BrakeSettle} after half are back, by a person, or after {placement/reconciler BrakeLimit}", why: "those who return a moment later are not doubled"},
			{what: "a stall of the control plane that is held against no node", value: "more than {inventory stallSteps} of its steps of a second", why: "beats that nobody could take are no silence"},
			{what: "planned work keeps new replicas away", value: "{inventory HoldAhead} before it begins", why: "a start may take that long, and what starts would have to leave"},
			{what: "holds learned of from other control planes, and swept when they have ended", value: "every {inventory/holds.go holdsEvery}", why: "a hold that has ended does nothing from its end on"},
			{what: "labels of operators on a node", value: "{inventory/labels.go MaxLabels}", why: "they ride in every look at the node"},
			{what: "clock of a node: warn / place nothing", value: "off by {inventory ClockWarnAfter} / {inventory ClockRefuseAfter}", why: "certificates and time limits are wrong on such a machine"},
			{what: "reserve of a node for its system (`ReserveMB`, `ReserveCPUs`)", value: "4 GiB or 5 % of memory, 2 cores or 10 %, the smaller of each", holds: "inventory/room.go: min(4096, f.MemoryMB/20)", why: "engines must not starve the agent"},
			{what: "the control plane counts as away, for an agent", value: "after {agent/config.go Away}", why: "then the agent restarts failed engines by itself"},
			{what: "limit of an agent's request", value: "{agent/config.go Request}", why: "two beats; an answer that is later than that is asked for again"},
			{what: "longest pause between polls that fail", value: "{agent maxPollWait}", why: "a control plane that is back has its fleet within a minute"},
			{what: "requests of one node", value: "{agent/hub PerSecond} a second, {agent/hub Burst} at once", why: "a beat, a poll and a burst of changes need fewer; a broken agent costs no more"},
			{what: "attempts to join", value: "{agent/hub Joins} a second, of all machines together", why: "nobody can guess tokens, or keep the authority busy"},
			{what: "questions that wait for one node / until its answer begins", value: "{agent/hub Asks} / {agent/hub AskWait}", why: "an agent that hangs holds up a few people, and shortly"},
			{what: "one log that is shown", value: "{agent/hub LogTime}, {agent/hub LogBytes:bytes}", why: "a followed log that was forgotten ends"},
			{what: "trial of an agent's new version (`releases.trial`) / starts in that time", value: "{agent/upgrade Trial} / {agent/upgrade Attempts}", why: "the control plane hears from an agent within seconds; and a version that hangs is taken back before its node is lost"},
			{what: "bringing an agent's new version / its size / the run that proves it", value: "{agent/protocol UpgradeTime} / {agent/upgrade MaxBytes:bytes} / {agent/upgrade Smoke}", why: "a slow network, and no more: nobody should wait for an agent that does not"},
			{what: "revocations read again", value: "every {agent/hub Recheck}", why: "what another control plane removed is cut off here too"},
		}},
		{title: "Engines", rows: []row{
			{what: "ports", value: "{agent/config.go PortMin} to {agent/config.go PortMax}", why: "outside the range that Linux gives out by itself; bound once to try, and kept"},
			{what: "address (`engine_access`)", value: "{agent/config.go EngineAccess}", why: "an engine's key protects only parts of it; `direct` is for fenced networks"},
			{what: "ports of gates", value: "{agent/config.go GatePortMin} to {agent/config.go GatePortMax}", why: "beside the engines', so that one rule of a firewall names them"},
			{what: "certificates of gates and of routers", value: "{internal/pki GateLife}", same: []string{"{internal/pki RouterLife}"}, why: "traffic outlasts an outage of the control plane; renewed at two thirds"},
			{what: "starts of a gate before its shard fails / until it answers", value: "{agent gateTries} / {agent gateLimit}", why: "another program may have taken its port"},
			{what: "a gate keeps a connection to its engine that nobody uses", value: "{agent/gate engineIdle}", why: "engines close theirs after 5 seconds"},
			{what: "a request that a gate can send to its engine again", value: "up to {agent/gate heldBytes:bytes}", why: "the engine may close a connection at that very moment; a larger one takes a new connection"},
			{what: "answers in flight when a gate is ended", value: "{agent/gate lastWords}", why: "the agent has waited for them before"},
			{what: "limit of a start (`start_timeout` of the profile)", value: "{catalog DefaultStartTimeout}", same: []string{"{agent/hub startTimeout}", "{agent defaultStartTimeout}"}, why: "large models load for minutes; what fails sooner says so sooner"},
			{what: "question to an engine that starts / that runs", value: "every {agent/config.go Ready} / {agent/config.go Probe}", why: "ready means that it has generated a token; a running one is asked seldom"},
			{what: "look at an engine's load", value: "every {agent/config.go Use}", why: "people see it, and routing may"},
			{what: "stop: TERM, TERM again, KILL", value: "when idle or at the drain limit, {agent/config.go TermAgain} later, {agent/config.go Kill} after the first", why: "some engines need the second"},
			{what: "drain at the end of an agent that stops its engines (`StopEngines`)", value: "{agent endDrain}", why: "somebody waits for the terminal"},
			{what: "start again without the control plane", value: "{agent/config.go Retry}, doubling to {agent/config.go RetryMax}", why: "an engine that cannot start is not tried for ever at full speed"},
			{what: "logs of a shard", value: "{agent/logs engineFiles} of {agent/logs engineBytes:bytes}", why: "enough to see a start, too little to fill a disk"},
			{what: "folders of shards that are gone, kept for their logs", value: "{agent keptFolders}", why: "failures are looked at afterwards"},
			{what: "what is left of an engine's fetch that was given up is removed after", value: "{agent/provision sweepAfter}", why: "the next try goes on with it; until then it only takes room"},
			{what: "connection to an engine / idle", value: "{agent/engines dialEngine} / {agent/engines idleEngine}", why: "engines are near, and close idle connections early"},
		}},
	}
}

// workSections are what engines need, and what becomes of replicas.
func workSections() []section {
	return []section{
		{title: "Weights", rows: []row{
			{what: "room that fetching leaves free (`LowWaterBytes`)", value: "10 % of the disk or 50 GiB, the smaller", holds: "agent/fetch/folder.go: min(total/10, 50<<30)", why: "a full disk stops more than a download"},
			{what: "download without a byte / with fewer over that time", value: "{agent/fetch Stall} / {agent/fetch MinRate:bytes} a second", why: "then it is tried again from where it stood"},
			{what: "pause after a failed try", value: "{agent/fetch Retry}, doubling to a minute", holds: "agent/fetch/download.go: min(2*wait, time.Minute)", why: "a source that comes back is used soon"},
			{what: "tries in a row that bring nothing / where there is another source", value: "{agent/fetch idleTries} / {agent/fetch idleTriesElsewhere}", why: "one that brings something is tried for ever"},
			{what: "a definition waits for a look at its weights / limit of one that nobody waits for / tried again where it could not be had", value: "{agent/inspect Wait} / {agent/inspect Limit} / every {agent/inspect Again}", why: "what no node could serve is refused while somebody is there to mend it; a slow source keeps nobody"},
			{what: "bytes of one file that is only looked at (`weights.unseen` turns it off)", value: "{agent/fetch mostLooked:bytes}", why: "large vocabularies have some ten MB, weights are not read at all"},
			{what: "weights that a definition wants ahead (`prefetch`) are looked at again", value: "every {agent prefetchAgain}", why: "somebody may have removed them"},
			{what: "full disk looked at again", value: "every {agent/config.go DiskRetry}", why: "nobody has to restart anything once there is room"},
		}},
		{title: "Replicas", rows: []row{
			{what: "idle timeout of on-demand models (`scaling.idle_timeout`)", value: "{catalog DefaultIdleTimeout}", same: []string{"{placement/reconciler DefaultIdleTimeout}"}, why: "longer than a pause in a conversation"},
			{what: "drain limit of a replica (`drain_timeout`) / of a node", value: "{catalog DefaultDrainTimeout} / {placement/reconciler NodeDrainTimeout}", same: []string{"{placement/reconciler DefaultDrainTimeout}", "{agent/hub drainTimeout}", "{agent defaultDrainTimeout}"}, why: "requests end; a replacement elsewhere has to load first"},
			{what: "estimate of a plan to carry out a place, where nothing was measured: start / drain", value: "{placement/reconciler EstimatedStart} / {placement/reconciler EstimatedDrain}", why: "one start a class, one class after the other"},
			{what: "back-off after a failed start", value: "{placement/reconciler FirstBackoff}, doubling to {placement/reconciler MaxBackoff}", why: "the next replica of the model would most likely fail in the same way"},
			{what: "failed starts in a row before a model is parked", value: "{placement/reconciler StartLimit}", why: "then a person has to look"},
			{what: "ready for so long clears the failures", value: "{placement/reconciler SteadyAfter}", why: "an engine that dies at its first requests has not succeeded"},
			{what: "node of a failed start is avoided for", value: "{placement/reconciler AvoidFor}", why: "unless nothing else fits"},
			{what: "routers hear of a drain within", value: "{placement/reconciler routersSettle}", why: "before that, their word that nothing is in flight does not count"},
			{what: "an agent's list without a shard is believed after", value: "{placement/reconciler listSettle}", why: "it may have been made before the order came"},
		}},
	}
}

// gpuSections are the GPUs of a node, and their driver.
func gpuSections() []section {
	return []section{
		{title: "GPUs", rows: []row{
			{what: "limit of reading the GPU driver", value: "{agent/discovery/gpu Limit}", why: "a driver that is slower hangs; its child is killed"},
			{what: "pause after a reading that failed", value: "{agent/discovery/gpu firstRetry}, doubling to {agent/discovery/gpu lastRetry}", why: "each try may hang again"},
			{what: "GPUs of a driver that does not answer are out", value: "after {agent/discovery/gpu silence}", why: "an engine on them would hang too"},
			{what: "a GPU that works again is watched", value: "for {agent/discovery/gpu watch}", why: "many fail again at once"},
			{what: "failures of one GPU that keep it out", value: "{agent/discovery/gpu falls} within {agent/discovery/gpu fallSpan}", why: "each costs the requests of an engine"},
		}},
	}
}

// networkSections are the networks between nodes.
func networkSections() []section {
	return []section{
		{title: "Networks between nodes", rows: []row{
			{what: "look at what ports say", value: "every {agent/survey Every}", why: "measurements come every 15 s, and a change should be seen soon"},
			{what: "walks of a fabric that nobody ordered / an order is answered with the map of", value: "{agent/survey Apart} apart / the last {agent/survey Fresh}", why: "packets of a walk are dropped under load"},
			{what: "a walk / its map", value: "{agent/protocol ScanTime}, from {agent/survey tries} nodes one after the other / {agent/protocol MaxScan:bytes}", why: "fabrics of thousands of nodes take seconds"},
			{what: "in doubt whether a subnet manager took over or a cable was moved", value: "{inventory/fabrics settle}", why: "agents ask once a minute, and all should have asked"},
			{what: "ports that no subnet manager configures are told after", value: "{inventory/fabrics patience}", why: "one that is plugged in waits for a moment"},
			{what: "errors are told after they grew / a change of the manager, for", value: "{inventory/fabrics grown} / {inventory/fabrics recent}", why: "what was once is no problem now"},
			{what: "changes of managers, and maps, that are kept", value: "{inventory/fabrics mostChanges} and {agent/survey mostScans}, in memory", why: "they end with the process"},
			{what: "a fabric test / its ports", value: "{agent/fabrictest streams} streams of TCP for {agent/fabrictest DefaultSeconds} s, at most {agent/protocol FabricTestSeconds} s / {agent/protocol FabricTestPortMin} to {agent/protocol FabricTestPortMax}", why: "one stream is bound by one processor at each end; a firewall between nodes has to let these ports pass"},
			{what: "a fabric test is good from", value: "half of the slower port's rate by TCP, three quarters by ib_write_bw", why: "TCP spends processors; a wrong cable, switch or route shows as much less"},
			{what: "a fabric test by ib_write_bw waits for its other end / may take beside the sending", value: "{agent/fabrictest connectTime} / {agent/fabrictest ibMargin}, then it is killed", why: "the program waits for ever by itself"},
		}},
	}
}
