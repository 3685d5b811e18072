package verdigraph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultRetries = 2
	defaultTimeout = 10 * time.Second
	// The first pause before a repetition without Retry-After. Each further one is twice as long, at random up to that.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	// A longer Retry-After is not waited for: the caller gets the error.
	longestRetryAfter = 30 * time.Second
)

// Options says where and how a client sends its requests.
type Options struct {
	// URL is the address of the service, such as http://127.0.0.1:8080. A path is kept.
	URL string
	// Key is the key of an application agent.
	Key string
	// KeyFunc is called for each request; nil: Key is sent.
	KeyFunc func(context.Context) (string, error)
	// Retries is the number of repetitions of a request that failed and may be repeated; 0: two; negative: none.
	Retries int
	// Timeout is the time limit of one attempt; 0: ten seconds.
	Timeout time.Duration
	// HTTPClient is for another configuration of TLS, proxies or connections; nil: that of the standard library. Its CheckRedirect is not used.
	HTTPClient *http.Client
}

// CallOption adds something to a single call.
type CallOption func(*call)

type call struct {
	// nil: not given. An empty token is refused, so that no call loses its user.
	token, delegationToken *string
	pageSize               int
}

// WithToken makes the call on behalf of the user of a token.
func WithToken(token string) CallOption { return func(c *call) { c.token = &token } }

// WithDelegationToken adds a delegation token of the same user (X-SVC-Token).
func WithDelegationToken(token string) CallOption {
	return func(c *call) { c.delegationToken = &token }
}

// WithPageSize sets the records in one request of Records; otherwise 100.
func WithPageSize(records int) CallOption { return func(c *call) { c.pageSize = records } }

type repetition bool

const (
	always        repetition = true
	ifNotExecuted repetition = false
)

type transport struct {
	base    string
	options Options
	http    *http.Client
}

func newTransport(options Options) (*transport, error) {
	base, err := parseURL(options.URL)
	if err != nil {
		return nil, err
	}
	if options.KeyFunc == nil {
		key, err := credential(options.Key, "key")
		if err != nil {
			return nil, err
		}
		options.Key = key
	}
	if options.Retries == 0 {
		options.Retries = defaultRetries
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.Timeout < 0 {
		return nil, fmt.Errorf("timeout: expected a duration above 0, found %v", options.Timeout)
	}
	client := http.Client{}
	if options.HTTPClient != nil {
		client = *options.HTTPClient
	}
	// A redirect could send the credentials to another service.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &transport{base: base, options: options, http: &client}, nil
}

func parseURL(text string) (string, error) {
	parsed, err := url.Parse(text)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Hostname() == "" {
		return "", errors.New("url: expected an address with http or https")
	}
	if parsed.User != nil {
		return "", errors.New("url: expected no user name or password")
	}
	if parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
		return "", errors.New("url: expected no query")
	}
	return strings.TrimRight(parsed.String(), "/"), nil
}

// credential returns the value as in a header. The error does not show it.
func credential(value, place string) (string, error) {
	text := strings.TrimSpace(value)
	isHeader := text != ""
	for _, character := range text {
		isHeader = isHeader && character >= ' ' && character <= '~'
	}
	if !isHeader {
		return "", fmt.Errorf("%s: expected printable ASCII characters", place)
	}
	return text, nil
}

// post returns the decoded answer. Its error is an *Error if the request was sent.
func post[T any](ctx context.Context, t *transport, path string, body any, repeat repetition, options []CallOption) (*T, error) {
	answer := new(T)
	if err := t.send(ctx, path, body, answer, repeat, options); err != nil {
		return nil, err
	}
	return answer, nil
}

func (t *transport) send(ctx context.Context, path string, body, result any, repeat repetition, options []CallOption) error {
	var with call
	for _, option := range options {
		option(&with)
	}
	content, err := encode(body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for attempt := 0; ; attempt++ {
		found, err := t.attempt(ctx, path, content, result, with)
		if err != nil || found == nil {
			return err
		}
		pause, mayRepeat := pauseBefore(found, repeat, attempt)
		if ctx.Err() != nil || !mayRepeat || attempt >= t.options.Retries {
			return found
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			found.Cause = context.Cause(ctx)
			return found
		}
	}
}

// attempt returns an *Error for a request that was sent, and an error for one that cannot be sent.
func (t *transport) attempt(ctx context.Context, path string, content []byte, result any, with call) (*Error, error) {
	limited, cancel := context.WithTimeout(ctx, t.options.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, t.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if err := t.setHeaders(ctx, request.Header, with); err != nil {
		return nil, err
	}
	status, headers, text, err := t.exchange(request)
	if err != nil {
		reason := "the service cannot be reached"
		if ctx.Err() != nil {
			reason, err = "the call was ended", context.Cause(ctx)
		} else if limited.Err() != nil {
			reason = "no answer in time"
		}
		return &Error{Kind: Unavailable, Message: path + ": " + reason, Cause: err}, nil
	}
	if status != http.StatusOK {
		return errorOf(status, headers, text), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	// Integers above 2^53 stay exact.
	decoder.UseNumber()
	if err := decoder.Decode(result); err != nil || decoder.More() {
		return unexpectedAnswer(headers.Get("X-Request-ID"), "%s: the answer is not the expected JSON object", path), nil
	}
	return nil, nil
}

func (t *transport) exchange(request *http.Request) (int, http.Header, []byte, error) {
	response, err := t.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, text, err
}

func (t *transport) setHeaders(ctx context.Context, headers http.Header, with call) error {
	key := t.options.Key
	if t.options.KeyFunc != nil {
		given, err := t.options.KeyFunc(ctx)
		if err != nil {
			return fmt.Errorf("key: %w", err)
		}
		if key, err = credential(given, "key"); err != nil {
			return err
		}
	}
	headers.Set("Accept", "application/json")
	headers.Set("Content-Type", "application/json")
	headers.Set("User-Agent", "verdigraph-go/"+Version)
	headers.Set("X-SVC-ClientKey", key)
	if with.token != nil {
		token, err := credential(*with.token, "token")
		if err != nil {
			return err
		}
		headers.Set("Authorization", "Bearer "+token)
	}
	if with.delegationToken != nil {
		token, err := credential(*with.delegationToken, "delegation token")
		if err != nil {
			return err
		}
		headers.Set("X-SVC-Token", token)
	}
	return nil
}

// encode refuses text that is not UTF-8: encoding/json would replace its bytes, so that two ids could become the same.
func encode(body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	// Replaced bytes are written as an escape, but U+FFFD itself is not.
	escape := []byte(`\ufffd`)
	for at := 0; ; {
		found := bytes.Index(content[at:], escape)
		if found < 0 {
			return content, nil
		}
		at += found
		before := at
		for before > 0 && content[before-1] == '\\' {
			before--
		}
		if (at-before)%2 == 0 {
			return nil, errors.New("the request contains text that is not UTF-8")
		}
		at += len(escape)
	}
}

// pauseBefore returns the time before a repetition, and whether the request may be repeated.
func pauseBefore(found *Error, repeat repetition, attempt int) (time.Duration, bool) {
	// A request that was refused for its number was not executed.
	if found.Kind != TooManyRequests && (found.Kind != Unavailable || repeat != always) {
		return 0, false
	}
	switch found.Status {
	// The same request would exceed the same limit, or find the same disk full.
	case http.StatusRequestTimeout, http.StatusNotImplemented, http.StatusInsufficientStorage:
		return 0, false
	}
	if found.RetryAfter != nil {
		return *found.RetryAfter, *found.RetryAfter <= longestRetryAfter
	}
	bound := min(longestPause, firstPause<<min(attempt, 16))
	return time.Duration(rand.Int64N(int64(bound))), true
}
