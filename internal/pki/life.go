package pki

import (
	"crypto/x509"
	"time"
)

// IssuedAt gives when a node's, router's or gate's certificate was signed, in
// whole seconds. A certificate itself says only when it begins, which is earlier.
func IssuedAt(cert *x509.Certificate) time.Time { return cert.NotBefore.Add(issueLead) }

// RenewAt gives when to renew a certificate: at two thirds of its life, moved by
// up to a tenth of the life. The jitter is from -1 to 1 and chosen anew by each
// machine, so that a fleet that joined at once does not renew at once.
func RenewAt(cert *x509.Certificate, jitter float64) time.Time {
	if !(jitter >= -1) { // also what is no number
		jitter = -1
	}
	jitter = min(jitter, 1)
	issued := IssuedAt(cert)
	life := cert.NotAfter.Sub(issued)
	return issued.Add(life*2/3 + time.Duration(float64(life)/10*jitter))
}

// RevocationTime gives the time to store when certificates are revoked now: the
// end of the running second, since certificates know whole seconds only.
func RevocationTime(now time.Time) time.Time {
	if t := now.Truncate(time.Second); t.Before(now) {
		return t.Add(time.Second)
	}
	return now
}

// IssueTime gives the time at which to sign for a machine whose earlier
// certificates were revoked at revokedAt: now, but not before the revocation.
// So a machine that is removed and joins again within a second works at once. A
// zero revokedAt means that nothing was revoked.
func IssueTime(now, revokedAt time.Time) time.Time {
	if r := RevocationTime(revokedAt); !revokedAt.IsZero() && now.Before(r) {
		return r
	}
	return now
}

// Revoked says whether a certificate issued at issued falls under a revocation
// at revokedAt: it does if it is older. What is issued later is not touched, so
// that a machine enrolled again under the same id needs nobody to lift anything.
// A zero revokedAt means that nothing was revoked.
func Revoked(issued, revokedAt time.Time) bool {
	return !revokedAt.IsZero() && issued.Before(revokedAt)
}
