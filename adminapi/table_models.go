package adminapi

import (
	"net/http"

	"llmgw.io/llmgw/adminapi/auth"
)

func modelRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/models", name: "models.list", op: "Models", scope: auth.Read, needs: clusterPart,
		summary: "List models and how they are doing", description: "Ordered by name.",
		query: pages(), endpoint: answers((*API).listModels),
	}, {
		method: http.MethodPost, pattern: "/models", name: "models.add", op: "AddModel", scope: auth.Operate, needs: catalogPart,
		summary:     "Add a model",
		description: "A whole definition. It is refused with every reason at once, or kept.",
		what:        "the model definition", limit: wholeForm, etag: true, endpoint: takes((*API).addModel),
	}, {
		method: http.MethodGet, pattern: "/models/{name}", name: "models.get", op: "Model", scope: auth.Read, needs: catalogPart,
		summary:     "Show a model's definition",
		description: "The definition in force, defaults filled in and keys left out; by its own name only.",
		etag:        true, endpoint: answers((*API).getModel),
	}, {
		method: http.MethodPut, pattern: "/models/{name}", name: "models.put", op: "PutModel", scope: auth.Operate, needs: catalogPart,
		summary:     "Replace a model's definition",
		description: "A key that is left out is kept, an empty one removes it. If-Match guards the revision.",
		what:        "the model definition", limit: wholeForm, etag: true, endpoint: takes((*API).putModel),
	}, {
		method: http.MethodDelete, pattern: "/models/{name}", name: "models.remove", op: "RemoveModel", scope: auth.Operate, needs: catalogPart,
		summary:     "Remove a model",
		description: "Refused while other models name it as a fallback or a candidate.",
		etag:        true, endpoint: answers((*API).removeModel),
	}}
}

func scalingRoutes() []route {
	return []route{{
		method: http.MethodPost, pattern: "/models/{name}/scale", name: "models.scale", op: "ScaleModel", scope: auth.Operate, needs: catalogPart,
		summary:     "Set how many replicas a model has",
		description: "max follows min when it is left out. Answers what is in force, not what was asked.",
		what:        "the scaling request", limit: oneField, etag: true, endpoint: takes((*API).scaleModel),
	}, {
		method: http.MethodPost, pattern: "/models/{name}/resources", name: "models.resources", op: "SetResources", scope: auth.Operate, needs: catalogPart,
		summary:     "Set what a model's shards reserve of their hosts",
		description: "Running replicas keep what they started with.",
		what:        "the resources request", limit: oneField, etag: true, endpoint: takes((*API).setResources),
	}, {
		method: http.MethodPost, pattern: "/models/{name}/class", name: "models.class", op: "SetClass", scope: auth.Operate, needs: catalogPart,
		summary: "Set a model's capacity class",
		what:    "the class request", limit: oneField, etag: true, endpoint: takes((*API).setClass),
	}, {
		method: http.MethodPost, pattern: "/models/{name}/retry", name: "models.retry", op: "RetryModel", scope: auth.Operate, needs: ordersPart,
		summary:     "Try a parked model again",
		description: "Clears its failures. An alias will do.", endpoint: answers((*API).retryModel),
	}, {
		method: http.MethodGet, pattern: "/models/{name}/target", name: "models.target", op: "Target", scope: auth.Read, needs: clusterPart,
		summary:     "Show how many replicas a model should have, and why",
		description: "An alias will do.", endpoint: answers((*API).target),
	}, {
		method: http.MethodGet, pattern: "/models/{name}/headroom", name: "models.headroom", op: "Headroom", scope: auth.Read, needs: clusterPart,
		summary:     "Show how many more replicas of a model fit",
		description: "Tries them on a copy of the fleet. An alias will do.",
		query:       []param{{name: "limit", kind: "integer", doc: "how many to try; 16 when left out, 0 or negative, never more than 64"}},
		endpoint:    answers((*API).headroom),
	}}
}
