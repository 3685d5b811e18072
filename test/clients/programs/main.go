// A client of oapi-codegen: compiled, then run against a live server.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"example.test/client/verdigraph"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func withHeader(name, value string) verdigraph.ClientOption {
	return verdigraph.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set(name, value)
		return nil
	})
}

func main() {
	url := os.Getenv("VERDIGRAPH_URL")
	agent, err := verdigraph.NewClientWithResponses(url, withHeader("X-SVC-ClientKey", os.Getenv("AGENT_KEY")))
	check(err)
	admin, err := verdigraph.NewClientWithResponses(url, withHeader("Authorization", "Bearer "+os.Getenv("ADMIN_TOKEN")))
	check(err)
	ctx := context.Background()
	subject := verdigraph.Subject{Type: "Person", Id: "ann"}
	drive := verdigraph.Action{Name: "drive"}

	params := func(loadKg int) *verdigraph.EvaluationContext {
		return &verdigraph.EvaluationContext{InputParams: &verdigraph.JsonObject{"load_kg": loadKg}}
	}
	mayDrive := func(loadKg int) bool {
		answer, err := agent.EvaluateWithResponse(ctx, nil, verdigraph.EvaluationRequest{
			Subject:  subject,
			Action:   drive,
			Resource: verdigraph.Resource{Type: "Truck", Id: "t1"},
			Context:  params(loadKg),
		})
		check(err)
		return answer.JSON200.Decision
	}
	found, err := agent.SearchResourcesWithResponse(ctx, nil, verdigraph.ResourceSearchRequest{
		Subject:  subject,
		Action:   drive,
		Resource: verdigraph.ResourceType{Type: "Truck"},
		Context:  params(1800),
	})
	check(err)
	ids := []string{}
	for _, entity := range found.JSON200.Results {
		ids = append(ids, entity.Id)
	}
	wrong, err := agent.EvaluateWithBodyWithResponse(ctx, nil, "application/json", nil)
	check(err)
	project, err := admin.ReadProjectWithResponse(ctx, os.Getenv("PROJECT_ID"), nil)
	check(err)

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"light":   mayDrive(1800),
		"heavy":   mayDrive(9000),
		"found":   ids,
		"problem": wrong.JSON400.Message != "",
		"region":  project.JSON200.Region,
	}))
}
