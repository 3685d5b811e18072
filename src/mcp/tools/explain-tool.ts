// The tool `authzen_explain`: why a decision is as it is, as `POST /access/v1/explain` answers it, without plans.
import { withLaneRequirement } from '../../kernel/request/lane-required.ts'
import { ok } from '../../kernel/result.ts'
import { explainDecision } from '../../pdp/explain.ts'
import { explanationWithoutPlans } from '../../pdp/explain-schema.ts'
import { readEvaluation } from '../../pdp/read-request.ts'
import * as schema from './argument-schemas.ts'
import { toNested } from './decision-arguments.ts'
import { readOnlyAnnotations } from './decision-tools.ts'
import { objectSchema, type Tool } from './tool.ts'

/** The tool. It shows the content of policies, so it needs the permission to read them, as over HTTP. */
export const explainTool: Tool = {
  name: 'authzen_explain',
  title: 'Explain a permission',
  description:
    'Explains why a subject may or may not perform an action on a resource. Returns the decision, and for each policy its outcome: the path that granted, or the step that stopped it.',
  inputSchema: schema.inputSchema(schema.subject, schema.action, schema.resource, schema.context),
  get outputSchema() {
    return objectSchema(explanationWithoutPlans)
  },
  annotations: readOnlyAnnotations,
  permission: 'ReadAuthZConfigs',
  also: 'Authorization',
  call({ decisions, mask }, agent, _origin, args) {
    const body = toNested(args)
    const request = body.ok ? readEvaluation(body.value) : body
    if (!request.ok) return request
    const explained = withLaneRequirement({ limitMs: decisions.batchTimeMs, isWrite: false }, () =>
      explainDecision(decisions, agent, mask, request.value),
    )
    if (!explained.ok) return explained
    const policies = explained.value.policies.map(({ plan: _, ...policy }) => policy)
    return ok({ structured: { ...explained.value, policies } })
  },
}
