// Package telemetry makes what is measured visible: metrics for whoever scrapes,
// and metrics and traces for a collector of OpenTelemetry.
//
// It is the one place that knows the SDK and its exporters. Everything else
// speaks to the interfaces of the OpenTelemetry API, so that a program which
// embeds llmgw brings its own providers and links none of this. It measures
// nothing itself but the process.
//
// llmgw-control opens it at its start and closes it at its end. A Telemetry is
// safe for use by several goroutines at once. Start reading at Open.
package telemetry
