// A stand-in for libnvidia-ml.so.1 that tests compile: two cards of an old
// driver that knows the second form of the fabric's call and no newer one.
//
//   -DCARDS=8   so many cards
//   -DHANG      counting the cards never comes back
//   -DBEGIN=n   beginning fails with that number
//   -DLOST      the second card is lost
//   -DMIG       the first card is partitioned, with a hole between its instances
//   -DFABRIC    both are in a fabric that spans machines
//   -DOLD       a function is missing that no test for it comes before
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int R;
typedef struct { int id; } H;
#ifndef CARDS
#define CARDS 2
#endif
static H card[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}, part[2] = {{100}, {102}};
enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NOTFOUND = 6, TIMEOUT = 10, LOSTCARD = 15, VERSION = 25 };

#ifdef LOST
#define NEED(h) if ((h)->id == 1) return LOSTCARD
#else
#define NEED(h) (void)(h)
#endif

#ifndef BEGIN
#define BEGIN 0
#endif
R nvmlInit_v2(void) { return BEGIN; }
R nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(R r) { return r == LOSTCARD ? "GPU is lost" : "fake error"; }
R nvmlSystemGetDriverVersion(char *v, unsigned n) { snprintf(v, n, "570.10.fake"); return OK; }
R nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12080; return OK; }
R nvmlDeviceGetCount_v2(unsigned *n) {
#ifdef HANG
	for (;;) pause();
#endif
	*n = CARDS;
	return OK;
}
R nvmlDeviceGetHandleByIndex_v2(unsigned i, H **h) { if (i >= CARDS) return INVALID; *h = &card[i]; return OK; }
R nvmlDeviceGetName(H *h, char *n, unsigned l) {
	NEED(h);
	snprintf(n, l, h->id >= 100 ? "NVIDIA H100 80GB HBM3 MIG 3g.40gb" : "NVIDIA H100 80GB HBM3");
	return OK;
}
R nvmlDeviceGetUUID(H *h, char *n, unsigned l) {
	NEED(h);
	snprintf(n, l, "%s-%08d-0000-0000-0000-000000000000", h->id >= 100 ? "MIG" : "GPU", h->id);
	return OK;
}
struct pci { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; };
R nvmlDeviceGetPciInfo_v3(H *h, struct pci *p) {
	memset(p, 0, sizeof *p);
	snprintf(p->bus_id, sizeof p->bus_id, "00000000:%02X:00.0", 0x1a + h->id);
	return OK;
}
R nvmlDeviceGetCudaComputeCapability(H *h, int *a, int *b) { *a = 9; *b = 0; return OK; }
struct memory { unsigned long long total, free, used; };
R nvmlDeviceGetMemoryInfo(H *h, struct memory *m) {
	m->total = h->id >= 100 ? 40448ull << 20 : 81559ull << 20;
	m->used = 1000ull << 20;
	m->free = m->total - m->used;
	return OK;
}
R nvmlDeviceGetMigMode(H *h, unsigned *now, unsigned *next) {
#ifdef MIG
	*now = *next = h->id == 0;
#else
	*now = *next = 0;
#endif
	return OK;
}
R nvmlDeviceGetMaxMigDeviceCount(H *h, unsigned *n) { *n = 7; return OK; }
R nvmlDeviceGetMigDeviceHandleByIndex(H *h, unsigned i, H **o) {
	if (i != 0 && i != 2) return NOTFOUND;
	*o = &part[i / 2];
	return OK;
}
struct attributes { unsigned sm, ce, dec, enc, jpg, ofa, slices, compute; unsigned long long mb; };
R nvmlDeviceGetAttributes_v2(H *h, struct attributes *a) {
	memset(a, 0, sizeof *a);
	a->slices = a->compute = 3;
	a->mb = 40448;
	return OK;
}
R nvmlDeviceGetNvLinkState(H *h, unsigned link, unsigned *on) { if (link >= 18) return INVALID; *on = 1; return OK; }
R nvmlDeviceGetP2PStatus(H *a, H *b, unsigned what, unsigned *status) { *status = 0; return OK; }
R nvmlDeviceGetTotalEccErrors(H *h, int type, int counter, unsigned long long *n) { *n = 0; return OK; }
R nvmlDeviceGetRemappedRows(H *h, unsigned *c, unsigned *u, unsigned *pending, unsigned *failed) {
	*c = *u = *pending = *failed = 0;
	return OK;
}
#ifndef OLD
struct field { unsigned id, scope; long long at, took; unsigned type, result; unsigned char value[8]; };
R nvmlDeviceGetFieldValues(H *h, int n, struct field *f) {
	for (int i = 0; i < n; i++) f[i].result = UNSUPPORTED;
	return OK;
}
#endif
R nvmlDeviceGetCurrPcieLinkWidth(H *h, unsigned *w) { *w = h->id == 1 ? 8 : 16; return OK; }
R nvmlDeviceGetMaxPcieLinkWidth(H *h, unsigned *w) { *w = 16; return OK; }
R nvmlDeviceGetTemperature(H *h, int sensor, unsigned *t) { *t = 41; return OK; }
R nvmlDeviceGetPowerUsage(H *h, unsigned *mw) { *mw = 71500; return OK; }
struct use { unsigned gpu, memory; };
R nvmlDeviceGetUtilizationRates(H *h, struct use *u) { u->gpu = 12; u->memory = 3; return OK; }
struct process { unsigned pid; unsigned long long used; unsigned gi, ci; };
R nvmlDeviceGetComputeRunningProcesses_v3(H *h, unsigned *n, struct process *p) {
	if (h->id != 1) { *n = 0; return OK; }
	if (*n < 1) { *n = 1; return 7; }
	*n = 1;
	p[0].pid = 4321; p[0].used = 700ull << 20; p[0].gi = p[0].ci = 0xffffffff;
	return OK;
}
#ifdef FABRIC
struct fabric { unsigned version; unsigned char uuid[16]; unsigned status, clique; unsigned char state; unsigned health; };
R nvmlDeviceGetGpuFabricInfoV(H *h, struct fabric *f) {
	if (f->version >> 24 != 2) return VERSION;
	for (int i = 0; i < 16; i++) f->uuid[i] = i + 1;
	f->status = 0; f->clique = 32766; f->state = 3; f->health = 2;
	return OK;
}
#endif
R nvmlEventSetCreate(H **s) { *s = &card[0]; return OK; }
R nvmlEventSetFree(H *s) { return OK; }
R nvmlDeviceGetSupportedEventTypes(H *h, unsigned long long *t) { *t = h->id == 1 ? 8 : 0; return OK; }
R nvmlDeviceRegisterEvents(H *h, unsigned long long t, H *s) { return h->id == 1 && t == 8 ? OK : UNSUPPORTED; }
struct event { H *device; unsigned long long type, data; unsigned gi, ci; };
R nvmlEventSetWait_v2(H *s, struct event *e, unsigned ms) {
	static int told;
	if (told++) { usleep(ms * 1000); return TIMEOUT; }
	memset(e, 0, sizeof *e);
	e->device = &card[1]; e->type = 8; e->data = 48;
	return OK;
}
