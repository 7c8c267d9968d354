package adminapi

import (
	"net/http"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
)

func trafficRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/usage", name: "usage.get", op: "Usage", scope: auth.Read, needs: usagePart,
		summary: "Sum what was used", description: "Ordered by id.",
		query: []param{
			{name: "by", kind: "string", doc: "org, team (when left out), project, user, key or model"},
			{name: "since", kind: "string", doc: "how far back, a positive duration; 24h when left out"},
		},
		endpoint: answers((*API).usage),
	}, {
		method: http.MethodGet, pattern: "/requests/{id}", name: "requests.get", op: "Request", scope: auth.Read, needs: recordsPart,
		summary: "Show the record of one client request", description: "Records are written a few seconds after a request ends.",
		endpoint: answers((*API).getRequest),
	}, {
		method: http.MethodGet, pattern: "/requests/{id}/explain", name: "requests.explain", op: "ExplainRequest", scope: auth.Read, needs: choicesPart,
		summary: "Show why a request went to its replica", description: "Only the newest choices are known, and only to the process that made them.",
		endpoint: answers((*API).explainRequest),
	}, {
		method: http.MethodGet, pattern: "/audit", name: "audit.list", op: "Audit", scope: auth.Read, needs: auditPart,
		summary: "List changes and who made them", description: "Newest first.",
		query: pages(
			param{name: "object", kind: "string", doc: "only changes of this object: model:tiny, node:a1"},
			param{name: "principal", kind: "string", doc: "only changes by this principal"}),
		endpoint: answers((*API).listAudit),
	}, {
		method: http.MethodGet, pattern: "/audit/verify", name: "audit.verify", op: "VerifyAudit", scope: auth.Read, needs: auditPart,
		summary: "Check that the log of changes is whole", description: "Walks the chain of hashes.", long: 10 * time.Minute,
		endpoint: answers((*API).verifyAudit),
	}}
}

func keyRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/keys", name: "keys.list", op: "Keys", scope: auth.Owner, needs: keysPart,
		summary: "List client keys", description: "Ordered by id, revoked ones too; never with their secrets.",
		query: pages(), endpoint: answers((*API).listKeys),
	}, {
		method: http.MethodPost, pattern: "/keys", name: "keys.create", op: "CreateKey", scope: auth.Owner, needs: keysPart,
		summary: "Create a client key", description: "The whole key is in this answer and nowhere else.",
		what: "the key request", limit: small, endpoint: takes((*API).createKey),
	}, {
		method: http.MethodDelete, pattern: "/keys/{id}", name: "keys.revoke", op: "RevokeKey", scope: auth.Owner, needs: keysPart,
		summary: "Revoke a client key", endpoint: answers((*API).revokeKey),
	}}
}

func tokenRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/tokens/join", name: "tokens.join.list", op: "JoinTokens", scope: auth.Owner, needs: joinPart,
		summary: "List permissions to join", description: "Newest first; never with their secrets.", endpoint: answers((*API).listJoinTokens),
	}, {
		method: http.MethodPost, pattern: "/tokens/join", name: "tokens.join.create", op: "CreateJoinToken", scope: auth.Owner, needs: joinPart,
		summary:     "Let one machine join",
		description: "For one use within an hour. The whole token is in this answer and nowhere else.", endpoint: answers((*API).createJoinToken),
	}, {
		method: http.MethodDelete, pattern: "/tokens/join/{id}", name: "tokens.join.revoke", op: "RevokeJoinToken", scope: auth.Owner, needs: joinPart,
		summary: "Revoke a permission to join", endpoint: answers((*API).revokeJoinToken),
	}, {
		method: http.MethodGet, pattern: "/tokens/admin", name: "tokens.admin.list", op: "AdminTokens", scope: auth.Owner, needs: adminPart,
		summary: "List admin tokens", description: "Never with their secrets.", endpoint: answers((*API).listAdminTokens),
	}, {
		method: http.MethodPost, pattern: "/tokens/admin", name: "tokens.admin.create", op: "CreateAdminToken", scope: auth.Owner, needs: adminPart,
		summary: "Create an admin token", description: "The whole token is in this answer and nowhere else.",
		what: "the admin token request", limit: small, endpoint: takes((*API).createAdminToken),
	}, {
		method: http.MethodDelete, pattern: "/tokens/admin/{id}", name: "tokens.admin.revoke", op: "RevokeAdminToken", scope: auth.Owner, needs: adminPart,
		summary: "Revoke an admin token", endpoint: answers((*API).revokeAdminToken),
	}}
}
