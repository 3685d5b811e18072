// Renders a plan as stable text and as plain data: one operator a line, inputs indented below. The text shows structure and
// never costs, so a golden plan changes only if the meaning of a plan changes.
import { descriptorOf, inputsOf, type OperatorText, type PlanInput } from './operator-descriptors.ts'
import type { Plan } from './operators.ts'

/** A plan as data: for JSON, and as the base of a profile. */
export interface PlanNode extends OperatorText {
  /** The plan that the node describes. */
  readonly plan: Plan
  readonly children: readonly { readonly role: PlanInput['role']; readonly node: PlanNode }[]
}

/** Describes a plan and its inputs as data. */
export function describe(plan: Plan): PlanNode {
  return {
    ...descriptorOf(plan).describe(plan),
    plan,
    children: inputsOf(plan).map((input) => ({ role: input.role, node: describe(input.plan) })),
  }
}

/** The text of a plan. `note` returns what to append to the line of an operator. */
export function explain(plan: Plan, note: (plan: Plan) => string = () => ''): string {
  return lines(describe(plan), 0, note).join('\n')
}

function lines(node: PlanNode, depth: number, note: (plan: Plan) => string): string[] {
  const indent = '  '.repeat(depth)
  const own = `${indent}${`${node.operator} ${node.detail}`.trimEnd()}${note(node.plan)}`
  const only = node.children.length === 1 && node.children[0]!.role === 'input'
  return [
    own,
    ...node.children.flatMap((child) =>
      only ? lines(child.node, depth + 1, note) : [`${indent}  ${child.role}`, ...lines(child.node, depth + 2, note)],
    ),
  ]
}
