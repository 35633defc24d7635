package agentcli

import (
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/failure"
)

func TestStatusAndWaitInWords(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]struct {
		status int
		wait   time.Duration
	}{
		"":                                   {0, 0},
		"status":                             {0, 0},
		"unexpected status 401 Unauthorized": {401, 0},
		"last status: 429 Too Many Requests": {429, 0},
		"API Error: 500 oops":                {500, 0},
		"Error code: 404":                    {404, 0},
		"Not logged in · Please run /login":  {401, 0},
		"status 200, then status 503":        {503, 0},
		"status 4290":                        {0, 0},
		"error 12, status x":                 {0, 0},
		"Quota exceeded. Check your plan":    {429, 0},
		"Rate limit reached. Please try again in 1.5s.": {429, 1500 * time.Millisecond},
		"try again in 20ms":                             {0, 20 * time.Millisecond},
		"Try again in 3 hours":                          {0, 3 * time.Hour},
		"retry after 2 minutes":                         {0, 2 * time.Minute},
		"please wait 10 seconds":                        {0, 10 * time.Second},
		"retry after 1 day":                             {0, 24 * time.Hour},
		"exceeded retry limit; try again in 7":          {0, 0},
		"wait for 99999999999 seconds":                  {0, 0},
		"try again in .. s":                             {0, 0},
	} {
		if s, w := StatusIn(message), WaitIn(message); s != want.status || w != want.wait {
			t.Errorf("%q: %d, %v", message, s, w)
		}
	}
}

func TestServiceFailure(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]failure.Class{
		0: failure.Provider, 400: failure.Provider, 401: failure.Config, 403: failure.Config, 404: failure.Config,
		402: failure.RateLimited, 429: failure.RateLimited, 500: failure.Provider, 503: failure.Provider, 529: failure.RateLimited,
	} {
		f := ServiceFailure("x", status, "", time.Minute)
		if f.Class != want || f.Err == nil || (f.RetryAfter != 0) != (want == failure.RateLimited) {
			t.Errorf("%d: %+v", status, f)
		}
	}
}
