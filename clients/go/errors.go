package verdigraph

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind is what a caller can do about an error.
type Kind string

const (
	// InvalidRequest: statuses 400, 404, 409, 413, 415 and 422. The request is wrong, and the same request fails again.
	InvalidRequest Kind = "invalid request"
	// NotAuthorized: statuses 401 and 403. The key or the token is missing, wrong, or lacks a permission.
	NotAuthorized Kind = "not authorized"
	// TooManyRequests: status 429. More requests than the limit of the agent.
	TooManyRequests Kind = "too many requests"
	// Unavailable: no answer, or a status from 500. A later request may succeed. Of a write, it is unknown whether it was stored.
	Unavailable Kind = "unavailable"
	// UnexpectedAnswer: an answer that is not one of the service, for example of a proxy.
	UnexpectedAnswer Kind = "unexpected answer"
)

// Error is a request that was not answered with a result. A decision is then unknown: treat it as a denial.
type Error struct {
	Kind    Kind
	Message string
	// Status is the HTTP status; 0: there was no answer.
	Status int
	// Errors has one sentence for each fault that the service found; empty: the message is all.
	Errors []string
	// RequestID is the header X-Request-ID, by which the operator finds the request in the log; empty: there was no answer.
	RequestID string
	// RetryAfter is the time of the header Retry-After; nil: not given.
	RetryAfter *time.Duration
	// Challenge is the header WWW-Authenticate: what a user token lacks (RFC 6750, RFC 9470); empty: not given.
	Challenge string
	// Cause is the error of the connection, or of the context; nil: there was an answer.
	Cause error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Cause)
	}
	return e.Message
}

// Unwrap returns the cause, such as context.Canceled.
func (e *Error) Unwrap() error { return e.Cause }

func unexpectedAnswer(requestID, format string, values ...any) *Error {
	return &Error{Kind: UnexpectedAnswer, Message: fmt.Sprintf(format, values...), Status: http.StatusOK, RequestID: requestID}
}

func errorOf(status int, headers http.Header, text []byte) *Error {
	var problem struct {
		Message any `json:"message"`
		Errors  any `json:"errors"`
	}
	// Not JSON, if it is not from the service: for example of a proxy.
	_ = json.Unmarshal(text, &problem)
	found := &Error{
		Kind:       kindOf(status),
		Status:     status,
		Errors:     sentences(problem.Errors),
		RequestID:  headers.Get("X-Request-ID"),
		RetryAfter: retryAfter(headers.Get("Retry-After"), time.Now()),
		Challenge:  headers.Get("WWW-Authenticate"),
	}
	if found.Kind == UnexpectedAnswer {
		found.Message = fmt.Sprintf("expected a result, found status %d", status)
		return found
	}
	summary, isText := problem.Message.(string)
	if !isText {
		summary = http.StatusText(status)
	}
	found.Message = strings.TrimSpace(fmt.Sprintf("%d %s", status, summary))
	if len(found.Errors) > 0 {
		found.Message += ": " + strings.Join(found.Errors, "; ")
	}
	return found
}

func sentences(value any) []string {
	var found []string
	if all, isList := value.([]any); isList {
		for _, each := range all {
			if text, isText := each.(string); isText {
				found = append(found, text)
			}
		}
	}
	return found
}

func kindOf(status int) Kind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return NotAuthorized
	case status == http.StatusTooManyRequests:
		return TooManyRequests
	case status >= 500 || status == http.StatusRequestTimeout:
		return Unavailable
	case status >= 400:
		return InvalidRequest
	default:
		return UnexpectedAnswer
	}
}

// retryAfter is the value of Retry-After from now: seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(value string, now time.Time) *time.Duration {
	value = strings.TrimSpace(value)
	// A number of at most 32 bits, so that the product cannot overflow.
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		found := time.Duration(seconds) * time.Second
		return &found
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return nil
	}
	found := max(0, date.Sub(now))
	return &found
}
