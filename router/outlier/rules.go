package outlier

import "time"

// Rules are the numbers of the judgement. The zero value stands for the defaults
// beside the fields.
type Rules struct {
	// Failures in a row take a replica out. Default 5. One that cannot be reached
	// at all is out after the first.
	Failures int
	// Cool is for how long one failure makes a replica the last choice. Default
	// 5 seconds.
	Cool time.Duration
	// Ejection is for how long a replica is out the first time; the nth time in
	// a row it is n times as long, up to MostEjection. Default 30 seconds and 5
	// minutes.
	Ejection, MostEjection time.Duration
	// Ratio is how many times slower than its peers a replica has to be. Default 3.
	Ratio float64
	// Slower is by how much it has to be slower beside that, since three times
	// almost nothing is nothing. Default 250 milliseconds.
	Slower time.Duration
	// Samples are how many first tokens a replica and one of its peers must have
	// given within Window before they are compared. Default 20, within a minute.
	Samples int
	Window  time.Duration
	// Silent is for how long a replica with requests in flight may give nothing
	// before it counts as hung. Default 30 seconds: a long prefill alone is that
	// silent too, which is why nothing that runs there is ended for it.
	Silent time.Duration
	// SlowStart is for how long a replica that has come, or come back, is given
	// less than its share. Default 30 seconds.
	SlowStart time.Duration
}

func (r Rules) withDefaults() Rules {
	orElse(&r.Failures, 5)
	orElse(&r.Cool, 5*time.Second)
	orElse(&r.Ejection, 30*time.Second)
	orElse(&r.MostEjection, 5*time.Minute)
	orElse(&r.Ratio, 3)
	orElse(&r.Slower, 250*time.Millisecond)
	orElse(&r.Samples, 20)
	orElse(&r.Window, time.Minute)
	orElse(&r.Silent, 30*time.Second)
	orElse(&r.SlowStart, 30*time.Second)
	return r
}

func orElse[T comparable](field *T, standard T) {
	var zero T
	if *field == zero {
		*field = standard
	}
}
