package verdigraph_test

// Every method against a live service, which test/clients/languages.test.ts starts.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"verdigraph.example/verdigraph"
)

type (
	ref    = verdigraph.Ref
	params = verdigraph.Params
)

var (
	background = context.Background()
	ann        = verdigraph.NodeKey{Type: "Person", ExternalID: "ann"}
	written    sync.Once
)

func carKey(id string) verdigraph.NodeKey { return verdigraph.NodeKey{Type: "Car", ExternalID: id} }

func carWith(id string, seats any) verdigraph.Node {
	return verdigraph.Node{
		Type:       "Car",
		ExternalID: id,
		Properties: []verdigraph.NodeProperty{{Type: "seats", Value: seats}},
	}
}

func owned(ids ...string) []verdigraph.Relationship {
	var all []verdigraph.Relationship
	for _, id := range ids {
		all = append(all, verdigraph.Relationship{Source: ann, Type: "OWNS", Target: carKey(id)})
	}
	return all
}

// service returns a client of the live service, in which ann owns the cars c0 to c599 with so many seats.
func service(t *testing.T) *verdigraph.Client {
	t.Helper()
	if os.Getenv("VERDIGRAPH_URL") == "" {
		t.Skip("VERDIGRAPH_URL: not set")
	}
	client := connect(t, verdigraph.Options{
		URL:     os.Getenv("VERDIGRAPH_URL") + "/",
		KeyFunc: func(context.Context) (string, error) { return os.Getenv("AGENT_KEY"), nil },
		// The machine of the test may be busy.
		Timeout: time.Minute,
	})
	written.Do(func() {
		identity := true
		changes := verdigraph.Changes{Nodes: []verdigraph.Node{{Type: "Person", ExternalID: "ann", IsIdentity: &identity}}}
		for number := range 600 {
			id := fmt.Sprint("c", number)
			changes.Nodes = append(changes.Nodes, carWith(id, number))
			changes.Relationships = append(changes.Relationships, owned(id)...)
		}
		result, err := client.Write(background, changes)
		if err != nil || len(result.Nodes) != 601 || len(result.Relationships) != 600 {
			t.Fatal(result, err)
		}
	})
	return client
}

func connect(t *testing.T, options verdigraph.Options) *verdigraph.Client {
	t.Helper()
	client, err := verdigraph.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func collect[T any](t *testing.T, all iter.Seq2[T, error]) []T {
	t.Helper()
	found := []T{}
	for each, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, each)
	}
	return found
}

func equal(t *testing.T, found, expected any) {
	t.Helper()
	if fmt.Sprintf("%#v", found) != fmt.Sprintf("%#v", expected) {
		t.Errorf("expected %#v, found %#v", expected, found)
	}
}

func failure(t *testing.T, err error) *verdigraph.Error {
	t.Helper()
	var found *verdigraph.Error
	if !errors.As(err, &found) {
		t.Fatalf("expected an *Error, found %v", err)
	}
	return found
}

func TestDecidesWithParameters(t *testing.T) {
	client := service(t)
	drive := func(subject, resource verdigraph.Reference, min any) bool {
		return must[bool](t)(client.May(background, subject, "drive", resource, params{"min": min}))
	}
	equal(t, drive(ref{"Person": "ann"}, ref{"Car": "c5"}, 5), true)
	equal(t, drive(ref{"Person": "ann"}, ref{"Car": "c5"}, 6), false)
	equal(t, drive(ref{"Person": "bob"}, ref{"Car": "c5"}, 5), false)
	subject := verdigraph.Subject{Type: "Person", ID: "ann", Properties: verdigraph.JSONObject{"a": 1}}
	equal(t, drive(subject, verdigraph.Resource{Type: "Car", ID: "c5"}, 5), true)
}

func TestDecidesMoreQuestionsThanOneRequestMayHaveInTheirOrder(t *testing.T) {
	client := service(t)
	var checks []verdigraph.Check
	var expected []bool
	for at := range 1201 {
		resource := ref{"Car": fmt.Sprint("c", at%600)}
		checks = append(checks, verdigraph.Check{
			Subject: ref{"Person": "ann"}, Action: "drive", Resource: resource, Params: params{"min": 300},
		})
		expected = append(expected, at%600 >= 300)
	}
	equal(t, must[[]bool](t)(client.MayAll(background, checks)), expected)
	equal(t, must[[]bool](t)(client.MayAll(background, nil)), []bool{})
	// An error in one question denies it.
	checks[1].Resource = ref{"Car": ""}
	checks[300].Params = nil
	equal(t, must[[]bool](t)(client.MayAll(background, []verdigraph.Check{checks[400], checks[1], checks[300]})), []bool{true, false, false})
}

func TestIteratesOverPages(t *testing.T) {
	client := service(t)
	found := collect(t, client.Resources(background, ref{"Person": "ann"}, "drive", "Car", params{"min": 100}))
	var expected []string
	for number := 100; number < 600; number++ {
		expected = append(expected, fmt.Sprint("c", number))
	}
	slices.Sort(found)
	slices.Sort(expected)
	equal(t, found, expected)
	equal(t, collect(t, client.Subjects(background, "Person", "drive", ref{"Car": "c9"}, params{"min": 9})), []string{"ann"})
	equal(t, collect(t, client.Actions(background, ref{"Person": "ann"}, ref{"Car": "c9"}, params{"min": 9})), []string{"drive"})
	equal(t, collect(t, client.Resources(background, ref{"Person": "bob"}, "drive", "Car", params{"min": 0})), []string{})
	for id, err := range client.Resources(background, ref{"Person": "ann"}, "drive", "Car", params{"min": 0}) {
		if err != nil || !strings.HasPrefix(id, "c") {
			t.Error(id, err)
		}
		break
	}
}

func TestReadsRecordsOfAQuery(t *testing.T) {
	client := service(t)
	for _, size := range []int{7, 50, 600} {
		records := collect(t, client.Records(background, "cars", params{"min": 500, "max": 599}, verdigraph.WithPageSize(size)))
		equal(t, len(records), 100)
	}
	request := verdigraph.KnowledgeQueryCall{ID: "cars", InputParams: verdigraph.JSONObject{"min": 599, "max": 599}}
	answer := must[*verdigraph.KnowledgeQueryAnswer](t)(client.Execute(background, request))
	expected := verdigraph.JSONObject{"car.external_id": "c599", "car.property.seats": json.Number("599")}
	equal(t, answer.Data[0].Nodes, expected)
	for _, err := range client.Records(background, "cars", nil, verdigraph.WithPageSize(0)) {
		equal(t, err.Error(), "page size: expected a number from 1, found 0")
	}
}

func TestPassesAUserToken(t *testing.T) {
	client := service(t)
	token := verdigraph.WithToken(os.Getenv("USER_TOKEN"))
	records := collect(t, client.Records(background, "mine", nil, token, verdigraph.WithPageSize(1000)))
	equal(t, len(records), 600)
	for _, err := range client.Records(background, "mine", nil, verdigraph.WithToken("not a token")) {
		found := failure(t, err)
		if found.Kind != verdigraph.NotAuthorized || !strings.Contains(found.Challenge, "Bearer") {
			t.Errorf("%#v", found)
		}
	}
}

func TestExplains(t *testing.T) {
	client := service(t)
	answer := must[*verdigraph.Explanation](t)(client.Why(background, ref{"Person": "ann"}, "drive", ref{"Car": "c5"}, params{"min": 6}))
	equal(t, answer.Decision, false)
	equal(t, len(answer.Policies), 1)
	equal(t, answer.Policies[0].Name, "seats")
	equal(t, answer.Policies[0].Outcome, verdigraph.PolicyExplanationOutcomeDenied)
	if answer.Policies[0].NearestMiss == nil || answer.Policies[0].NearestMiss.Stopped.Step == "" {
		t.Errorf("no nearest miss: %#v", answer.Policies[0])
	}
}

func TestHasTheRequestsOfHTTP(t *testing.T) {
	client := service(t)
	subject, resource := verdigraph.Subject{Type: "Person", ID: "ann"}, verdigraph.Resource{Type: "Car", ID: "c5"}
	drive, given := verdigraph.Action{Name: "drive"}, &verdigraph.EvaluationContext{InputParams: verdigraph.JSONObject{"min": 5}}
	asked := verdigraph.EvaluationRequest{Subject: subject, Action: drive, Resource: resource, Context: given}
	equal(t, must[*verdigraph.Decision](t)(client.Evaluate(background, asked)).Decision, true)
	// No policy has one of no tags.
	tagged := asked
	tagged.Context = &verdigraph.EvaluationContext{InputParams: given.InputParams, PolicyTags: []string{}}
	equal(t, must[*verdigraph.Decision](t)(client.Evaluate(background, tagged)).Decision, false)
	batch := verdigraph.EvaluationsRequest{
		Subject: &subject, Action: &drive, Resource: &resource, Context: given,
		Evaluations: []verdigraph.EvaluationItem{{}, {Action: &verdigraph.Action{Name: "sell"}}},
	}
	answers := must[*verdigraph.DecisionList](t)(client.Evaluations(background, batch)).Evaluations
	equal(t, []bool{answers[0].Decision, answers[1].Decision}, []bool{true, false})
	equal(t, must[*verdigraph.Explanation](t)(client.Explain(background, asked)).Decision, true)
	car, id := "Car", "c5"
	compared := must[*verdigraph.Comparison](t)(client.Compare(background, verdigraph.ComparisonRequest{
		RemovedPolicies: []string{"seats"},
		Context:         &verdigraph.ComparisonContext{InputParams: given.InputParams},
		Resource:        &verdigraph.ComparedEntities{Type: &car, ID: &id},
	}))
	equal(t, []any{compared.Lost, compared.Losses[0].Sample[0].Subject.ID}, []any{1, "ann"})
	limit := 2
	resources := verdigraph.ResourceSearchRequest{
		Subject: subject, Action: drive, Resource: verdigraph.ResourceType{Type: "Car"}, Context: given,
		Page: &verdigraph.SearchPage{Limit: &limit},
	}
	equal(t, must[*verdigraph.SearchAnswer](t)(client.SearchResources(background, resources)).Page.Count, 2)
	subjects := verdigraph.SubjectSearchRequest{
		Subject: verdigraph.SubjectType{Type: "Person"}, Action: drive, Resource: resource, Context: given,
	}
	equal(t, must[*verdigraph.SearchAnswer](t)(client.SearchSubjects(background, subjects)).Results, []verdigraph.FoundEntity{{Type: "Person", ID: "ann"}})
	actions := verdigraph.ActionSearchRequest{Subject: subject, Resource: resource, Context: given}
	equal(t, must[*verdigraph.ActionSearchAnswer](t)(client.SearchActions(background, actions)).Results, []verdigraph.FoundAction{{Name: "drive"}})
}

func TestWritesAgainAndDeletes(t *testing.T) {
	client := service(t)
	var result *verdigraph.Written
	for range 2 {
		changes := verdigraph.Changes{Nodes: []verdigraph.Node{carWith("gone", 4)}, Relationships: owned("gone")}
		result = must[*verdigraph.Written](t)(client.Write(background, changes))
		equal(t, []int{len(result.Nodes), len(result.Relationships), len(result.DeleteNodes)}, []int{1, 1, 0})
	}
	may := func() bool {
		return must[bool](t)(client.May(background, ref{"Person": "ann"}, "drive", ref{"Car": "gone"}, params{"min": 4}))
	}
	equal(t, may(), true)
	deleted := must[*verdigraph.Written](t)(client.Write(background, verdigraph.Changes{
		DeleteRelationships: []verdigraph.RelationshipKey{{Source: ann, Type: "OWNS", Target: carKey("gone")}},
		DeleteNodes:         []verdigraph.NodeKey{carKey("gone")},
	}))
	equal(t, deleted.DeleteNodes, result.Nodes)
	equal(t, may(), false)
}

func TestKeepsIdsAndBigIntegers(t *testing.T) {
	client := service(t)
	names := []string{"Zoë", "日本", "🚗", `a'b"c\d`, "e\u0301", strings.Repeat("x", 256), "{TYPE}", "line\nbreak", "\uFFFD", `\ufffd`, "<&>"}
	numbers := []int64{1<<53 + 1, -1<<53 - 1, 1<<63 - 1, -1 << 63}
	var changes, deletions verdigraph.Changes
	for _, name := range names {
		changes.Nodes = append(changes.Nodes, carWith(name, 1000))
	}
	for _, number := range numbers {
		changes.Nodes = append(changes.Nodes, carWith(fmt.Sprint("big", number), number))
	}
	for _, node := range changes.Nodes {
		changes.Relationships = append(changes.Relationships, owned(node.ExternalID)...)
		deletions.DeleteNodes = append(deletions.DeleteNodes, carKey(node.ExternalID))
	}
	must[*verdigraph.Written](t)(client.Write(background, changes))
	found := collect(t, client.Resources(background, ref{"Person": "ann"}, "drive", "Car", params{"min": 1000}))
	for _, name := range names {
		if !slices.Contains(found, name) {
			t.Errorf("%q is not found", name)
		}
	}
	for _, number := range numbers {
		resource := ref{"Car": fmt.Sprint("big", number)}
		equal(t, must[bool](t)(client.May(background, ref{"Person": "ann"}, "drive", resource, params{"min": number})), true)
		if number < 1<<63-1 {
			equal(t, must[bool](t)(client.May(background, ref{"Person": "ann"}, "drive", resource, params{"min": number + 1})), false)
		}
		records := collect(t, client.Records(background, "cars", params{"min": number, "max": number}))
		equal(t, len(records), 1)
		equal(t, records[0].Nodes["car.property.seats"], json.Number(fmt.Sprint(number)))
	}
	must[*verdigraph.Written](t)(client.Write(background, deletions))
}

func TestNamesTheFaultTheStatusAndTheRequest(t *testing.T) {
	client := service(t)
	_, err := client.May(background, ref{"Person": "ann"}, "drive", ref{"Car": "c1"}, nil)
	found := failure(t, err)
	equal(t, found.Kind, verdigraph.InvalidRequest)
	equal(t, found.Status, 422)
	if !strings.Contains(strings.Join(found.Errors, ""), "min") || !strings.Contains(found.Error(), "min") || found.RequestID == "" {
		t.Errorf("%#v", found)
	}
}

func TestSeparatesCredentialsFromRequests(t *testing.T) {
	service(t)
	for key, text := range map[string]string{"wrong": "401", os.Getenv("CAPTURE_KEY"): "insufficient API access"} {
		client := connect(t, verdigraph.Options{URL: os.Getenv("VERDIGRAPH_URL"), Key: key})
		_, err := client.May(background, ref{"Person": "ann"}, "drive", ref{"Car": "c1"}, params{"min": 1})
		found := failure(t, err)
		equal(t, found.Kind, verdigraph.NotAuthorized)
		if !strings.Contains(found.Error(), text) {
			t.Errorf("expected %q in %q", text, found)
		}
	}
}

func TestServesManyGoroutines(t *testing.T) {
	client := service(t)
	var group sync.WaitGroup
	for number := range 600 {
		group.Add(1)
		go func() {
			defer group.Done()
			may, err := client.May(background, ref{"Person": "ann"}, "drive", ref{"Car": fmt.Sprint("c", number)}, params{"min": 300})
			if err != nil || may != (number >= 300) {
				t.Error(number, may, err)
			}
		}()
	}
	group.Wait()
}
