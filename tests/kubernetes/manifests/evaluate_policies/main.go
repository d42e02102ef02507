// SPDX-License-Identifier: Apache-2.0

// Evaluates ValidatingAdmissionPolicies with an API server's own code, without a server. From standard input: {"policies": [...],
// "requests": [{"user", "operation", "group", "version", "resource", "kind", "namespace", "name", "object", "oldObject"}...]}. To standard
// output: for each request a list of {"policy", "message", "error"} of those that refuse it; an error is one of the expressions'. tools.sh
// builds it, and cel.py asks it.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Of the oldest server that the manifests are for: what it cannot evaluate is an error.
var oldest = environment.MustBaseEnvSet(version.MajorMinor(1, 30), true)

type request struct {
	User, Operation, Group, Version, Resource, Kind, Namespace, Name string
	Object, OldObject                                                map[string]any
}

type refusal struct {
	Policy  string `json:"policy"`
	Message string `json:"message"`
	Error   bool   `json:"error"`
}

func compile(policy *v1.ValidatingAdmissionPolicy) validating.Validator {
	compiler, err := cel.NewCompositedCompiler(oldest)
	if err != nil {
		log.Fatal(err)
	}
	mode, options := environment.NewExpressions, cel.OptionalVariableDeclarations{}
	var variables []cel.NamedExpressionAccessor
	for _, one := range policy.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: one.Name, Expression: one.Expression})
	}
	compiler.CompileAndStoreVariables(variables, options, mode)
	var conditions, validations []cel.ExpressionAccessor
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	for _, one := range policy.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: one.Expression, Message: one.Message, Reason: one.Reason})
	}
	matcher := matchconditions.NewMatcher(compiler.CompileCondition(conditions, options, mode), policy.Spec.FailurePolicy, "policy", "validate", policy.Name)
	none := compiler.CompileCondition(nil, options, mode)
	return validating.NewValidator(compiler.CompileCondition(validations, options, mode), matcher, none, none, policy.Spec.FailurePolicy)
}

func object(content map[string]any) runtime.Object {
	if content == nil {
		return nil
	}
	text, err := json.Marshal(content)
	if err != nil {
		log.Fatal(err)
	}
	made := &unstructured.Unstructured{} // whose numbers are integers where they can be
	if err := made.UnmarshalJSON(text); err != nil {
		log.Fatal(err)
	}
	return made
}

func attributes(asked *request) *admission.VersionedAttributes {
	kind := schema.GroupVersionKind{Group: asked.Group, Version: asked.Version, Kind: asked.Kind}
	resource := schema.GroupVersionResource{Group: asked.Group, Version: asked.Version, Resource: asked.Resource}
	is, was := object(asked.Object), object(asked.OldObject)
	record := admission.NewAttributesRecord(is, was, kind, asked.Namespace, asked.Name, resource, "", admission.Operation(asked.Operation), nil, false,
		&user.DefaultInfo{Name: asked.User})
	return &admission.VersionedAttributes{Attributes: record, VersionedObject: is, VersionedOldObject: was, VersionedKind: kind}
}

func matches(policy *v1.ValidatingAdmissionPolicy, attributes admission.Attributes) bool {
	for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
		matcher := rules.Matcher{Rule: rule.RuleWithOperations, Attr: attributes}
		if matcher.Matches() {
			return true
		}
	}
	return false
}

func refusals(policy *v1.ValidatingAdmissionPolicy, validator validating.Validator, asked *request) (found []refusal) {
	versioned := attributes(asked)
	if !matches(policy, versioned.Attributes) {
		return nil
	}
	result := validator.Validate(context.Background(), versioned.GetResource(), versioned, nil, nil, celconfig.RuntimeCELCostBudget, nil)
	for _, decision := range result.Decisions {
		if decision.Action == validating.ActionDeny || decision.Evaluation == validating.EvalError {
			found = append(found, refusal{policy.Name, decision.Message, decision.Evaluation == validating.EvalError})
		}
	}
	return found
}

func main() {
	var input struct {
		Policies []v1.ValidatingAdmissionPolicy
		Requests []request
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		log.Fatal(err)
	}
	answers := make([][]refusal, len(input.Requests))
	for i := range answers {
		answers[i] = []refusal{}
	}
	for i := range input.Policies {
		validator := compile(&input.Policies[i])
		for j := range input.Requests {
			answers[j] = append(answers[j], refusals(&input.Policies[i], validator, &input.Requests[j])...)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}
