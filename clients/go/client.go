// Package verdigraph is the HTTP client of Verdigraph, a graph-based authorization service.
//
// The requests and answers in models.go are generated from the OpenAPI document of the service.
package verdigraph

import (
	"context"
	"fmt"
	"iter"
)

// Version is the version of this package, which is the version of the service that it was made for.
const Version = "0.1.0"

const (
	// The default of the setting evaluations_max, at most so many in one request of MayAll.
	evaluationsMax = 1000
	// The default of the setting capture_items_max.
	itemsMax       = 250
	recordsPerPage = 100
)

// Reference names a subject or a resource: a Ref, a Subject or a Resource.
type Reference interface {
	// entity returns the type, the id and the properties. The error names the place.
	entity(place string) (Subject, error)
}

// Ref is a type and an id, such as Ref{"Person": "ann"}.
type Ref map[string]string

func (r Ref) entity(place string) (Subject, error) {
	if len(r) == 1 {
		for typ, id := range r {
			return Subject{Type: typ, ID: id}, nil
		}
	}
	return Subject{}, fmt.Errorf("%s: expected one type with its id, found %d", place, len(r))
}

func (s Subject) entity(string) (Subject, error) { return s, nil }

func (r Resource) entity(string) (Subject, error) { return Subject(r), nil }

// Params are the input parameters of the policies or of a query, by name without $.
type Params map[string]any

// Check is one question of MayAll.
type Check struct {
	Subject  Reference
	Action   string
	Resource Reference
	Params   Params
}

// Changes are the elements that Write writes and deletes.
type Changes struct {
	// Nodes to create or update.
	Nodes []Node
	// Relationships to create or update. If an end does not exist, the list is refused.
	Relationships       []Relationship
	DeleteRelationships []RelationshipKey
	// DeleteNodes are deleted with their relationships.
	DeleteNodes []NodeKey
	// UseGlobalDB is for relationships whose ends are in different constituents; nil: not given.
	UseGlobalDB *bool
}

// Written are the ids of the written elements, in the order of the items; empty for a deleted element that did not exist.
type Written struct {
	Nodes, Relationships, DeleteRelationships, DeleteNodes []string
}

// Client is a client of one service with the key of one agent, for any number of goroutines. Every error about an answer is an *Error.
// Treat any error as a denial.
type Client struct {
	transport *transport
}

// New returns a client. It sends nothing.
func New(options Options) (*Client, error) {
	transport, err := newTransport(options)
	if err != nil {
		return nil, err
	}
	return &Client{transport: transport}, nil
}

// May returns whether the subject may perform the action.
func (c *Client) May(ctx context.Context, subject Reference, action string, resource Reference, params Params, options ...CallOption) (bool, error) {
	request, err := evaluationOf(Check{subject, action, resource, params})
	if err != nil {
		return false, err
	}
	answer, err := c.Evaluate(ctx, request, options...)
	return err == nil && answer.Decision, err
}

// MayAll is as May, for any number of questions, in their order. An error in one of them is a denial.
func (c *Client) MayAll(ctx context.Context, checks []Check, options ...CallOption) ([]bool, error) {
	decisions := make([]bool, 0, len(checks))
	for at := 0; at < len(checks); at += evaluationsMax {
		part := checks[at:min(at+evaluationsMax, len(checks))]
		items := make([]EvaluationItem, 0, len(part))
		for _, check := range part {
			request, err := evaluationOf(check)
			if err != nil {
				return nil, err
			}
			items = append(items, EvaluationItem{
				Subject:  &request.Subject,
				Action:   &request.Action,
				Resource: &request.Resource,
				Context:  request.Context,
			})
		}
		answer, err := c.Evaluations(ctx, EvaluationsRequest{Evaluations: items}, options...)
		if err != nil {
			return nil, err
		}
		if len(answer.Evaluations) != len(part) {
			return nil, unexpectedAnswer("", "expected %d decisions, found %d", len(part), len(answer.Evaluations))
		}
		for _, evaluation := range answer.Evaluations {
			decisions = append(decisions, evaluation.Decision)
		}
	}
	return decisions, nil
}

// Why returns why the subject may perform the action or not: the outcome of each policy. The agent needs ReadAuthZConfigs too;
// the service refuses Policies from an agent.
func (c *Client) Why(ctx context.Context, subject Reference, action string, resource Reference, params Params, options ...CallOption) (*Explanation, error) {
	request, err := evaluationOf(Check{subject, action, resource, params})
	if err != nil {
		return nil, err
	}
	return c.Explain(ctx, request, options...)
}

// Resources iterates over the ids of all resources of the type on which the subject may perform the action. One request for each page.
// An error is the last element.
func (c *Client) Resources(ctx context.Context, subject Reference, action, typ string, params Params, options ...CallOption) iter.Seq2[string, error] {
	request, err := evaluationOf(Check{subject, action, Ref{typ: ""}, params})
	search := ResourceSearchRequest{
		Subject:  request.Subject,
		Action:   request.Action,
		Resource: ResourceType{Type: typ},
		Context:  request.Context,
	}
	return pages(err, func(page *SearchPage) ([]FoundEntity, *SearchAnswerPage, error) {
		asked := search
		asked.Page = page
		answer, err := c.SearchResources(ctx, asked, options...)
		if err != nil {
			return nil, nil, err
		}
		results, err := listOf(answer.Results, "results")
		return results, answer.Page, err
	}, idOf)
}

// Subjects iterates over the ids of all subjects of the type that may perform the action on the resource. One request for each page. An
// error is the last element.
func (c *Client) Subjects(ctx context.Context, typ, action string, resource Reference, params Params, options ...CallOption) iter.Seq2[string, error] {
	request, err := evaluationOf(Check{Ref{typ: ""}, action, resource, params})
	search := SubjectSearchRequest{
		Subject:  SubjectType{Type: typ},
		Action:   request.Action,
		Resource: request.Resource,
		Context:  request.Context,
	}
	return pages(err, func(page *SearchPage) ([]FoundEntity, *SearchAnswerPage, error) {
		asked := search
		asked.Page = page
		answer, err := c.SearchSubjects(ctx, asked, options...)
		if err != nil {
			return nil, nil, err
		}
		results, err := listOf(answer.Results, "results")
		return results, answer.Page, err
	}, idOf)
}

// Actions iterates over the names of all actions that the subject may perform on the resource. An error is the last element.
func (c *Client) Actions(ctx context.Context, subject, resource Reference, params Params, options ...CallOption) iter.Seq2[string, error] {
	request, err := evaluationOf(Check{subject, "", resource, params})
	search := ActionSearchRequest{Subject: request.Subject, Resource: request.Resource, Context: request.Context}
	return pages(err, func(page *SearchPage) ([]FoundAction, *SearchAnswerPage, error) {
		asked := search
		asked.Page = page
		answer, err := c.SearchActions(ctx, asked, options...)
		if err != nil {
			return nil, nil, err
		}
		results, err := listOf(answer.Results, "results")
		return results, answer.Page, err
	}, func(found FoundAction) string { return found.Name })
}

// Records iterates over all records of a knowledge query, by its id or name. One request for each page. Numbers are json.Number. An error
// is the last element. Use Execute for a query that writes.
func (c *Client) Records(ctx context.Context, id string, params Params, options ...CallOption) iter.Seq2[KnowledgeQueryRecord, error] {
	with := call{pageSize: recordsPerPage}
	for _, option := range options {
		option(&with)
	}
	return func(yield func(KnowledgeQueryRecord, error) bool) {
		if with.pageSize < 1 {
			yield(KnowledgeQueryRecord{}, fmt.Errorf("page size: expected a number from 1, found %d", with.pageSize))
			return
		}
		for page := 1; ; page++ {
			request := KnowledgeQueryCall{ID: id, InputParams: JSONObject(params), Page: &page, PageSize: &with.pageSize}
			answer, err := c.Execute(ctx, request, options...)
			if err == nil {
				_, err = listOf(answer.Data, "data")
			}
			if err != nil {
				yield(KnowledgeQueryRecord{}, err)
				return
			}
			for _, record := range answer.Data {
				if !yield(record, nil) {
					return
				}
			}
			if len(answer.Data) < with.pageSize {
				return
			}
		}
	}
}

// Write writes nodes, relationships, deletions of relationships and deletions of nodes, in this order and in requests of at most 250
// items, each of which is one transaction. A request that fails ends the call; those before it are stored, and the call can be repeated.
func (c *Client) Write(ctx context.Context, changes Changes, options ...CallOption) (*Written, error) {
	var written Written
	var err error
	written.Nodes, err = inParts(changes.Nodes, func(nodes []Node) ([]CapturedElement, error) {
		return c.capture(ctx, "/capture/v1/nodes", NodesRequest{Nodes: nodes}, options)
	})
	if err != nil {
		return nil, err
	}
	written.Relationships, err = inParts(changes.Relationships, func(relationships []Relationship) ([]CapturedElement, error) {
		body := RelationshipsRequest{Relationships: relationships, UseGlobalDB: changes.UseGlobalDB}
		return c.capture(ctx, "/capture/v1/relationships", body, options)
	})
	if err != nil {
		return nil, err
	}
	written.DeleteRelationships, err = inParts(changes.DeleteRelationships, func(keys []RelationshipKey) ([]CapturedElement, error) {
		body := RelationshipsDeletionRequest{Relationships: keys, UseGlobalDB: changes.UseGlobalDB}
		return c.capture(ctx, "/capture/v1/relationships/delete", body, options)
	})
	if err != nil {
		return nil, err
	}
	written.DeleteNodes, err = inParts(changes.DeleteNodes, func(keys []NodeKey) ([]CapturedElement, error) {
		return c.capture(ctx, "/capture/v1/nodes/delete", NodesDeletionRequest{Nodes: keys}, options)
	})
	if err != nil {
		return nil, err
	}
	return &written, nil
}

// Evaluate is POST /access/v1/evaluation.
func (c *Client) Evaluate(ctx context.Context, request EvaluationRequest, options ...CallOption) (*Decision, error) {
	return post[Decision](ctx, c.transport, "/access/v1/evaluation", request, always, options)
}

// Evaluations is POST /access/v1/evaluations.
func (c *Client) Evaluations(ctx context.Context, request EvaluationsRequest, options ...CallOption) (*DecisionList, error) {
	return post[DecisionList](ctx, c.transport, "/access/v1/evaluations", request, always, options)
}

// Compare is POST /access/v1/compare: which decisions a change of the policies would change. The agent needs ReadAuthZConfigs too;
// the service refuses Policies from an agent.
func (c *Client) Compare(ctx context.Context, request ComparisonRequest, options ...CallOption) (*Comparison, error) {
	return post[Comparison](ctx, c.transport, "/access/v1/compare", request, always, options)
}

// Explain is POST /access/v1/explain.
func (c *Client) Explain(ctx context.Context, request EvaluationRequest, options ...CallOption) (*Explanation, error) {
	return post[Explanation](ctx, c.transport, "/access/v1/explain", request, always, options)
}

// SearchResources is POST /access/v1/search/resource.
func (c *Client) SearchResources(ctx context.Context, request ResourceSearchRequest, options ...CallOption) (*SearchAnswer, error) {
	return post[SearchAnswer](ctx, c.transport, "/access/v1/search/resource", request, always, options)
}

// SearchSubjects is POST /access/v1/search/subject.
func (c *Client) SearchSubjects(ctx context.Context, request SubjectSearchRequest, options ...CallOption) (*SearchAnswer, error) {
	return post[SearchAnswer](ctx, c.transport, "/access/v1/search/subject", request, always, options)
}

// SearchActions is POST /access/v1/search/action.
func (c *Client) SearchActions(ctx context.Context, request ActionSearchRequest, options ...CallOption) (*ActionSearchAnswer, error) {
	return post[ActionSearchAnswer](ctx, c.transport, "/access/v1/search/action", request, always, options)
}

// Execute is POST /contx-iq/v1/execute. It is not repeated if it is unknown whether it was executed, because a query may write. Numbers in
// records are json.Number.
func (c *Client) Execute(ctx context.Context, request KnowledgeQueryCall, options ...CallOption) (*KnowledgeQueryAnswer, error) {
	return post[KnowledgeQueryAnswer](ctx, c.transport, "/contx-iq/v1/execute", request, ifNotExecuted, options)
}

// capture sends a write. The same request again leads to the same graph.
func (c *Client) capture(ctx context.Context, path string, body any, options []CallOption) ([]CapturedElement, error) {
	answer, err := post[CaptureResult](ctx, c.transport, path, body, always, options)
	if err != nil {
		return nil, err
	}
	return listOf(answer.Results, "results")
}

func inParts[T any](items []T, send func([]T) ([]CapturedElement, error)) ([]string, error) {
	ids := make([]string, 0, len(items))
	for at := 0; at < len(items); at += itemsMax {
		results, err := send(items[at:min(at+itemsMax, len(items))])
		if err != nil {
			return nil, err
		}
		for _, result := range results {
			ids = append(ids, result.ID)
		}
	}
	return ids, nil
}

func evaluationOf(check Check) (EvaluationRequest, error) {
	subject, err := entityOf(check.Subject, "subject")
	if err != nil {
		return EvaluationRequest{}, err
	}
	resource, err := entityOf(check.Resource, "resource")
	if err != nil {
		return EvaluationRequest{}, err
	}
	request := EvaluationRequest{Subject: subject, Action: Action{Name: check.Action}, Resource: Resource(resource)}
	if check.Params != nil {
		request.Context = &EvaluationContext{InputParams: JSONObject(check.Params)}
	}
	return request, nil
}

func entityOf(reference Reference, place string) (Subject, error) {
	if reference == nil {
		return Subject{}, fmt.Errorf("%s: expected one type with its id, found nil", place)
	}
	return reference.entity(place)
}

// listOf refuses an answer without the list, which is not one of the service.
func listOf[T any](items []T, member string) ([]T, error) {
	if items == nil {
		return nil, unexpectedAnswer("", "the answer has no list %q", member)
	}
	return items, nil
}

func pages[T any](err error, read func(*SearchPage) ([]T, *SearchAnswerPage, error), nameOf func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err != nil {
			yield("", err)
			return
		}
		for page := (*SearchPage)(nil); ; {
			results, answered, err := read(page)
			if err != nil {
				yield("", err)
				return
			}
			for _, result := range results {
				if !yield(nameOf(result), nil) {
					return
				}
			}
			if answered == nil || answered.NextToken == "" {
				return
			}
			page = &SearchPage{Token: &answered.NextToken}
		}
	}
}

func idOf(found FoundEntity) string { return found.ID }
