package homeboy_test

import (
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
)

func TestCommandPolicy(t *testing.T) {
	t.Parallel()
	rules := func(patterns ...string) (out []homeboy.CommandRule) {
		for _, p := range patterns {
			out = append(out, homeboy.CommandRule{Pattern: p})
		}
		return out
	}
	for _, c := range []struct {
		policy  *homeboy.CommandPolicy
		command string
		want    bool
	}{
		{nil, "rm -rf /", true},
		{&homeboy.CommandPolicy{}, "rm -rf /", true},
		{&homeboy.CommandPolicy{Deny: rules("rm")}, "rm -rf /", false},
		{&homeboy.CommandPolicy{Deny: rules("rm")}, "/bin/rm x", false},
		{&homeboy.CommandPolicy{Deny: rules("rm")}, "rmdir x", true},
		{&homeboy.CommandPolicy{Deny: rules("git ** --force")}, "git push origin --force", false},
		{&homeboy.CommandPolicy{Deny: rules("git ** --force")}, "git push origin", true},
		{&homeboy.CommandPolicy{Deny: rules("npm *"), Allow: rules("npm test")}, "npm test", true},
		{&homeboy.CommandPolicy{Deny: rules("npm *"), Allow: rules("npm test")}, "npm install x", false},
		{&homeboy.CommandPolicy{Mode: homeboy.CommandAllowList, Allow: rules("node")}, "node server.js", true},
		{&homeboy.CommandPolicy{Mode: homeboy.CommandAllowList, Allow: rules("node")}, "python x", false},
		{&homeboy.CommandPolicy{Mode: homeboy.CommandAllowList, Allow: rules("**"), Deny: rules("** *.env")}, "cat a/b.env", false},
	} {
		if got, why := c.policy.Allows(strings.Fields(c.command)); got != c.want || !got && why == "" {
			t.Errorf("%+v, %s: %v %q", c.policy, c.command, got, why)
		}
	}
}
