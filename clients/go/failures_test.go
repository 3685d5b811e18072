package verdigraph_test

// Repetitions, time limits and answers that are not those of the service.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"verdigraph.example/verdigraph"
)

type answer struct {
	status  int
	headers map[string]string
	text    string
}

var (
	permit  = answer{200, nil, `{"decision":true}`}
	busy    = answer{503, map[string]string{"Retry-After": "1"}, "<html>"}
	limited = answer{429, map[string]string{"Retry-After": "0"}, `{"message":"Too Many Requests"}`}
	down    = answer{502, nil, ""}
	// The connection stays open without an answer.
	silence = answer{}
)

// failing is a server that answers in turn; the last answer is repeated.
type failing struct {
	*httptest.Server
	lock    sync.Mutex
	times   []time.Time
	headers []http.Header
}

func (f *failing) requests() int {
	f.lock.Lock()
	defer f.lock.Unlock()
	return len(f.times)
}

func serve(t *testing.T, answers ...answer) *failing {
	t.Helper()
	server := &failing{}
	ended := make(chan struct{})
	server.Server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		server.lock.Lock()
		server.times = append(server.times, time.Now())
		server.headers = append(server.headers, request.Header)
		given := answers[min(len(server.times), len(answers))-1]
		server.lock.Unlock()
		if given.status == 0 {
			<-ended
			return
		}
		for name, value := range given.headers {
			response.Header().Set(name, value)
		}
		response.WriteHeader(given.status)
		_, _ = response.Write([]byte(given.text))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	return server
}

func mayWith(ctx context.Context, t *testing.T, options verdigraph.Options, more ...verdigraph.CallOption) (bool, error) {
	t.Helper()
	options.Key = "k"
	return connect(t, options).May(ctx, ref{"Person": "a"}, "b", ref{"Car": "c"}, nil, more...)
}

func TestWaitsAsLongAsTheServiceDemands(t *testing.T) {
	// A date has no fractions of a second.
	date := time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)
	for _, value := range []string{date, "1"} {
		server := serve(t, answer{503, map[string]string{"Retry-After": value}, "<html>"}, permit)
		equal(t, must[bool](t)(mayWith(background, t, verdigraph.Options{URL: server.URL})), true)
		if waited := server.times[1].Sub(server.times[0]); waited < 900*time.Millisecond {
			t.Errorf("%s: found %v", value, waited)
		}
	}
}

func TestEndsAfterTheGivenNumber(t *testing.T) {
	for retries, requests := range map[int]int{0: 3, 1: 2, -1: 1} {
		server := serve(t, down)
		_, err := mayWith(background, t, verdigraph.Options{URL: server.URL, Retries: retries})
		found := failure(t, err)
		equal(t, []any{found.Kind, found.Status, server.requests()}, []any{verdigraph.Unavailable, 502, requests})
	}
}

func TestRepeatsWritesOfTheGraphButNoQueryThatMayHaveBeenExecuted(t *testing.T) {
	client := func(server *failing) *verdigraph.Client {
		return connect(t, verdigraph.Options{URL: server.URL, Key: "k", Timeout: 200 * time.Millisecond})
	}
	server := serve(t, down, answer{200, nil, `{"results":[{"id":"i"}]}`})
	result := must[*verdigraph.Written](t)(client(server).Write(background, verdigraph.Changes{Nodes: []verdigraph.Node{carWith("a", 1)}}))
	equal(t, result.Nodes, []string{"i"})

	empty := answer{200, nil, `{"data":[]}`}
	for _, first := range []answer{down, silence} {
		server = serve(t, first, empty)
		_, err := client(server).Execute(background, verdigraph.KnowledgeQueryCall{ID: "q"})
		equal(t, []any{failure(t, err).Kind, server.requests()}, []any{verdigraph.Unavailable, 1})
	}
	server = serve(t, limited, empty)
	equal(t, len(collect(t, client(server).Records(background, "q", nil))), 0)
	equal(t, server.requests(), 2)
}

func TestDoesNotWaitForATimeThatIsTooLong(t *testing.T) {
	server := serve(t, answer{429, map[string]string{"Retry-After": "3600"}, ""})
	_, err := mayWith(background, t, verdigraph.Options{URL: server.URL})
	found := failure(t, err)
	equal(t, []any{found.Kind, *found.RetryAfter, server.requests()}, []any{verdigraph.TooManyRequests, time.Hour, 1})
}

func TestDoesNotRepeatWhatWouldFailAgain(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 408, 409, 413, 422, 501, 507} {
		server := serve(t, answer{status, map[string]string{"Retry-After": "0"}, ""})
		_, err := mayWith(background, t, verdigraph.Options{URL: server.URL})
		equal(t, []int{failure(t, err).Status, server.requests()}, []int{status, 1})
	}
}

func TestFollowsTheTimeLimitOfAnAttempt(t *testing.T) {
	options := verdigraph.Options{URL: serve(t, silence, permit).URL, Timeout: 200 * time.Millisecond}
	equal(t, must[bool](t)(mayWith(background, t, options)), true)
	_, err := mayWith(background, t, verdigraph.Options{URL: serve(t, silence).URL, Timeout: 50 * time.Millisecond, Retries: -1})
	found := failure(t, err)
	equal(t, found.Status, 0)
	if !strings.Contains(found.Error(), "no answer in time") {
		t.Error(found)
	}
}

func TestEndsWithTheContextAlsoDuringAPause(t *testing.T) {
	for _, first := range []answer{busy, silence} {
		server := serve(t, first)
		ctx, cancel := context.WithCancel(background)
		go func() {
			for server.requests() == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		may, err := mayWith(ctx, t, verdigraph.Options{URL: server.URL})
		if may || !errors.Is(err, context.Canceled) || failure(t, err).Kind != verdigraph.Unavailable {
			t.Error(may, err)
		}
		equal(t, server.requests(), 1)
	}
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	if _, err := mayWith(ctx, t, verdigraph.Options{URL: serve(t, silence).URL}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestReportsAServiceThatCannotBeReached(t *testing.T) {
	server := serve(t, permit)
	server.Close()
	_, err := mayWith(background, t, verdigraph.Options{URL: server.URL})
	if found := failure(t, err); found.Kind != verdigraph.Unavailable || !strings.Contains(found.Error(), "cannot be reached") || found.Cause == nil {
		t.Errorf("%#v", found)
	}
}

func TestDoesNotFollowRedirectsWhichCouldLeadTheKeyToAnotherHost(t *testing.T) {
	thief := serve(t, permit)
	server := serve(t, answer{307, map[string]string{"Location": thief.URL + "/access/v1/evaluation"}, ""})
	// Also if the given client would follow them.
	for _, client := range []*http.Client{nil, {}} {
		may, err := mayWith(background, t, verdigraph.Options{URL: server.URL, HTTPClient: client})
		if may || !strings.Contains(failure(t, err).Error(), "status 307") {
			t.Error(may, err)
		}
	}
	equal(t, thief.requests(), 0)
}

func TestDoesNotTakeAnotherAnswerForAPermit(t *testing.T) {
	for _, text := range []string{`{"decision":"true"}`, `{"decision":1}`, "{}", "null", "[]", "true", "", "<html>", `{"decision":true} {}`} {
		may, err := mayWith(background, t, verdigraph.Options{URL: serve(t, answer{200, map[string]string{"X-Request-ID": "r1"}, text}).URL})
		if may {
			t.Errorf("%s: is a permit", text)
		}
		if err != nil {
			found := failure(t, err)
			equal(t, []any{found.Kind, found.RequestID}, []any{verdigraph.UnexpectedAnswer, "r1"})
		}
	}
	check := verdigraph.Check{Subject: ref{"Person": "a"}, Action: "b", Resource: ref{"Car": "c"}}
	client := connect(t, verdigraph.Options{URL: serve(t, answer{200, nil, `{"evaluations":[{"decision":true}]}`}).URL, Key: "k"})
	_, err := client.MayAll(background, []verdigraph.Check{check, check})
	equal(t, failure(t, err).Message, "expected 2 decisions, found 1")
	client = connect(t, verdigraph.Options{URL: serve(t, answer{200, nil, "{}"}).URL, Key: "k"})
	for _, err := range client.Resources(background, ref{"Person": "a"}, "b", "Car", nil) {
		equal(t, failure(t, err).Message, `the answer has no list "results"`)
	}
	for _, err := range client.Records(background, "q", nil) {
		equal(t, failure(t, err).Message, `the answer has no list "data"`)
	}
}

func TestAsksPageByPage(t *testing.T) {
	first := answer{200, nil, `{"page":{"next_token":"t","count":1},"results":[{"type":"Car","id":"a"}]}`}
	last := answer{200, nil, `{"page":{"next_token":"","count":1},"results":[{"type":"Car","id":"b"}]}`}
	server := serve(t, first, last)
	found := connect(t, verdigraph.Options{URL: server.URL, Key: "k"}).Resources(background, ref{"Person": "a"}, "b", "Car", nil)
	equal(t, server.requests(), 0)
	for id := range found {
		equal(t, []any{id, server.requests()}, []any{"a", 1})
		break
	}
	server = serve(t, first, last, down)
	client := connect(t, verdigraph.Options{URL: server.URL, Key: "k"})
	equal(t, collect(t, client.Resources(background, ref{"Person": "a"}, "b", "Car", nil)), []string{"a", "b"})
	// An error ends the iteration.
	var ends []string
	for id, err := range client.Resources(background, ref{"Person": "a"}, "b", "Car", nil) {
		ends = append(ends, fmt.Sprint(id, err != nil))
	}
	equal(t, ends, []string{"true"})
}

func TestSendsTheCredentialsOfTheCall(t *testing.T) {
	server := serve(t, permit)
	client := connect(t, verdigraph.Options{URL: server.URL + "/base/", Key: " k\n"})
	_, err := client.May(background, ref{"Person": "a"}, "b", ref{"Car": "c"}, nil, verdigraph.WithToken("t"), verdigraph.WithDelegationToken("d"))
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, name := range []string{"X-Svc-Clientkey", "Authorization", "X-Svc-Token", "Content-Type"} {
		sent = append(sent, server.headers[0].Get(name))
	}
	equal(t, sent, []string{"k", "Bearer t", "d", "application/json"})
	for place, empty := range map[string]verdigraph.CallOption{
		"token":            verdigraph.WithToken(""),
		"delegation token": verdigraph.WithDelegationToken(""),
	} {
		before := server.requests()
		_, err = client.May(background, ref{"Person": "a"}, "b", ref{"Car": "c"}, nil, empty)
		if err == nil || err.Error() != place+": expected printable ASCII characters" || server.requests() != before {
			t.Errorf("%s: found %v and %d requests", place, err, server.requests()-before)
		}
	}
	_, err = client.May(background, ref{"Person": "a"}, "b", ref{"Car": "c"}, nil, verdigraph.WithToken("secret\r\nx: y"))
	equal(t, fmt.Sprint(err), "token: expected printable ASCII characters")
	unknown := errors.New("no key")
	client = connect(t, verdigraph.Options{URL: server.URL, KeyFunc: func(context.Context) (string, error) { return "", unknown }})
	if _, err := client.May(background, ref{"Person": "a"}, "b", ref{"Car": "c"}, nil); !errors.Is(err, unknown) {
		t.Error(err)
	}
	equal(t, server.requests(), 1)
}

func TestRefusesInvalidReferencesAndValues(t *testing.T) {
	server := serve(t, permit)
	client := connect(t, verdigraph.Options{URL: server.URL, Key: "k"})
	for _, wrong := range []verdigraph.Reference{ref{"Person": "a", "Car": "b"}, ref{}, nil} {
		_, err := client.May(background, wrong, "drive", ref{"Car": "c"}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "subject: expected one type with its id") {
			t.Error(err)
		}
		for _, err := range client.Actions(background, ref{"Person": "ann"}, wrong, nil) {
			if !strings.HasPrefix(err.Error(), "resource: expected one type with its id") {
				t.Error(err)
			}
		}
	}
	// Both ids would be sent as U+FFFD.
	for _, id := range []string{"\xff", "\\\xfe"} {
		_, err := client.May(background, ref{"Person": id}, "drive", ref{"Car": "c"}, nil)
		equal(t, fmt.Sprint(err), "/access/v1/evaluation: the request contains text that is not UTF-8")
	}
	if _, err := client.May(background, ref{"Person": "ann"}, "drive", ref{"Car": "c"}, params{"min": math.NaN()}); err == nil {
		t.Error("NaN was sent")
	}
	equal(t, server.requests(), 0)
}

func TestRefusesInvalidAddressesKeysAndLimits(t *testing.T) {
	for url, message := range map[string]string{
		"localhost:8080":      "url: expected an address with http or https",
		"ftp://a":             "url: expected an address with http or https",
		"http://":             "url: expected an address with http or https",
		"":                    "url: expected an address with http or https",
		"http://a b":          "url: expected an address with http or https",
		"http://a/?x=secret":  "url: expected no query",
		"http://a#x":          "url: expected no query",
		"http://a?":           "url: expected no query",
		"http://ann:secret@a": "url: expected no user name or password",
	} {
		_, err := verdigraph.New(verdigraph.Options{URL: url, Key: "k"})
		if err == nil || !strings.HasPrefix(err.Error(), message) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, key := range []string{"", " ", "a\nb", "ä"} {
		_, err := verdigraph.New(verdigraph.Options{URL: "http://a", Key: key})
		equal(t, fmt.Sprint(err), "key: expected printable ASCII characters")
	}
	_, err := verdigraph.New(verdigraph.Options{URL: "http://a", Key: "k", Timeout: -1})
	equal(t, fmt.Sprint(err), "timeout: expected a duration above 0, found -1ns")
}
