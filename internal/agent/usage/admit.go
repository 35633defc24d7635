package usage

import (
	"errors"
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
)

// ModelOf is the model that an attempt asks for: the task's, else the adapter's own; empty when the agent decides.
func ModelOf(a agentruntime.AdapterConfig, requested string) string {
	if requested != "" {
		return requested
	}
	return a.Common().Model
}

// CheckAdmission refuses a task whose budget of money could not be held: the price of its model is not known, or its agent
// tells nothing of what it uses. own is the task's budget as it asks for it. The operator's budgets for every task do not
// exclude agents that report nothing: there is nothing to count.
func CheckAdmission(c *config.Config, own *deed.Budget, a agentruntime.AdapterConfig, requested string) error {
	asked := own != nil && own.CostMicroUSD() > 0
	if blind(a) {
		if asked {
			return failure.New(failure.Config, "admit the budget", fmt.Errorf("cost_usd is set, and an agent of kind %s does not tell deed what it uses", a.Kind()),
				"leave cost_usd out, bound wall_seconds instead, or run the agent with an adapter that tells its usage")
		}
		return nil
	}
	l := LimitsOf(c, "", own)
	if l.Task.CostMicroUSD() == 0 && l.Day.CostMicroUSD() == 0 {
		return nil
	}
	model := ModelOf(a, requested)
	if _, ok := NewPrices(c.Prices, a).Of(model); ok {
		return nil
	}
	err := fmt.Errorf("there is a budget of money, and the price of model %q is not known", model)
	remedy := fmt.Sprintf("put it under `prices:` in the home's deed.yaml, as in `prices: {%q: {input_per_mtok_usd: 1, output_per_mtok_usd: 5}}`, or bound tokens instead of cost_usd", model)
	if model == "" {
		err = errors.New("there is a budget of money, and neither the task nor its adapter names the model, so that its price is not known")
		remedy = "name the model in the adapter or with the task (--model), or bound tokens instead of cost_usd"
	}
	return failure.New(failure.Config, "admit the budget", err, remedy)
}
