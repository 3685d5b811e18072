// A plan as a tree: each operator with its inputs, and what a run of it has read.
import type { HttpSchemas } from '../../../openapi/types.ts'

/** One operator, with its inputs. The figures are those of a run. */
export type ShownPlanStep = HttpSchemas['GraphQueryStep']

/** The tree. */
export function PlanTree({ step }: { readonly step: ShownPlanStep }) {
  return (
    <ul class="plan">
      <PlanItem step={step} />
    </ul>
  )
}

function PlanItem({ step }: { readonly step: ShownPlanStep }) {
  const { operator, detail, rows, reads, time_ms: time, children } = step
  return (
    <li>
      <span>
        <b>{operator}</b> <code>{detail}</code>
        {rows !== undefined && (
          <small>
            {rows} rows, {reads} reads, {time?.toFixed(2)} ms
          </small>
        )}
      </span>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            // The inputs of a step have an order and no names.
            <PlanItem key={index} step={child} />
          ))}
        </ul>
      )}
    </li>
  )
}
