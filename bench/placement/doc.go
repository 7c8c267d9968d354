// Command placement is the scheduler as the placement harness sees it, and the
// table of what the harness measured.
//
//	placement policy [-out FILE] [-moves PERCENT]   a policy for the harness's exec:
//	placement loop FILE [NODES]                     what the control loop's passes cost
//	placement table DIR                             figures beside their goals
//
// As a policy it reads JSON lines and answers on standard output: the openb
// trace, where a device has a thousand shares of memory, and the fleet that
// serves language models. It times its own decisions, without the pipe, and
// appends them to FILE as JSON. With -moves it makes room for what is refused, by
// moving others and, for groups, by stopping lower classes. As
// a loop it lets the reconciler fill a large fleet and times what it does then. As
// a table it exits with 1 when a goal is missed.
//
// scripts/bench-placement.sh runs both. Start reading at policy.go.
package main
