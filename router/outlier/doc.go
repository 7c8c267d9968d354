// Package outlier judges which replicas of a model are better asked last: those
// that fail, those that have fallen silent, and those that are far slower than
// their peers. It also says how much a replica that has come, or come back,
// should be given at first.
//
// It decides and does nothing else: it knows no network and no clock, and times
// are arguments that never go back. It takes nobody out for good. A replica that
// it names is the last choice, so a model whose replicas are all in trouble is
// served as well as can be, and a wrong judgement costs little.
//
// The router tells it how attempts end and asks it before every choice. A Group
// is not safe for use by several goroutines at once. Start reading at Group.
package outlier
