// The page with the report of an entity matching run: the numbers, and the pairs that a person should look at.
import type { MatchReport, ReviewedPair } from '../matching/report.ts'
import { renderHtml } from './docs/layout.ts'
import { type Html, html } from './docs/markup.ts'

/** Renders the page. It loads nothing, and has no script. */
export function renderMatchingReport(report: MatchReport): string {
  const { source_node_type, target_node_type, evaluation, conflicts, groups, decisions } = report
  const title = `Entity matching: ${source_node_type} and ${target_node_type}`
  const numbers: readonly (readonly [string, string | number])[] = [
    ['Pipeline', report.pipeline_id],
    ['Run', report.run_id],
    ['Started', report.run_start_time],
    ['Ended', report.run_end_time],
    [`${source_node_type} nodes`, report.source_nodes],
    ...(source_node_type === target_node_type ? [] : [[`${target_node_type} nodes`, report.target_nodes] as const]),
    ['Cutoff of the score', report.similarity_score_cutoff],
    ['Compared pairs', report.compared_pairs],
    ['Matched pairs', report.matched_pairs],
    ['Matched entities', report.matched_entities],
    ['Relationships written', report.relationships_written],
    ['Relationships removed', report.relationships_removed],
    ['Decided as the same', decisions.same],
    ['Decided as not the same', decisions.not_same],
  ]
  const body = html`<main>
<h1>${title}</h1>
${table(['', ''], numbers)}
<h2>Compared properties</h2>
${table(
  [source_node_type, target_node_type, 'Compared as'],
  report.property_mappings.map((one) => [one.source_node_property, one.target_node_property, one.kind]),
)}
${evaluation === null ? null : evaluated(evaluation)}
<h2>Scores</h2>
${table(
  ['From', 'To', 'Pairs'],
  report.deciles.map(({ from, to, pairs }) => [from, to, pairs]),
)}
<h2>Pairs to review</h2>
<p>The matched pairs with the lowest scores. A decision about a pair is kept over all later runs.</p>
${report.pairs_to_review.length === 0 ? html`<p>No pair.</p>` : pairTable(report)}
<h2>Conflicts</h2>
<p>${conflicts.count} ${conflicts.count === 1 ? 'pair contradicts' : 'pairs contradict'} the matches.</p>
${table(
  [source_node_type, target_node_type, 'Score', 'Reason'],
  conflicts.pairs.map((one) => [one.source_external_id, one.target_external_id, one.score, conflictTexts[one.reason]]),
)}
<h2>Groups</h2>
<p>${groups.count} ${groups.count === 1 ? 'group' : 'groups'} of three or more nodes that match each other.</p>
${table(
  ['Nodes', source_node_type, target_node_type],
  groups.largest.map((one) => [one.nodes, one.source_external_ids.join(', '), one.target_external_ids.join(', ')]),
)}
</main>`
  return renderHtml(`${title} – Verdigraph`, 'front', body)
}

const conflictTexts = {
  assigned_elsewhere: 'a node of the pair has a better match',
  decided_different: 'decided as not the same, and both match a third node',
  decided_twice: 'decisions give a node two counterparts',
} as const satisfies Readonly<Record<MatchReport['conflicts']['pairs'][number]['reason'], string>>

function evaluated(evaluation: NonNullable<MatchReport['evaluation']>): Html {
  return html`<h2>Labelled pairs</h2>
${table(
  ['', ''],
  [
    ['Labelled pairs', evaluation.labelled_pairs],
    ['Matched and the same', evaluation.true_positives],
    ['Matched and not the same', evaluation.false_positives],
    ['The same and not matched', evaluation.false_negatives],
    ['Precision', evaluation.precision ?? 'unknown'],
    ['Recall', evaluation.recall ?? 'unknown'],
    ['F1', evaluation.f1 ?? 'unknown'],
  ],
)}`
}

function pairTable({ source_node_type, target_node_type, pairs_to_review }: MatchReport): Html {
  return table(
    [source_node_type, target_node_type, 'Score', 'Why'],
    pairs_to_review.map((pair) => [pair.source_external_id, pair.target_external_id, pair.score, reasonsOf(pair)]),
  )
}

function reasonsOf({ properties }: ReviewedPair): string {
  return properties
    .map(({ source_node_property: source, target_node_property: target, similarity, weight }) => {
      const name = source === target ? source : `${source}/${target}`
      const sign = weight > 0 ? '+' : ''
      return similarity === null ? `${name}: missing` : `${name}: ${similarity} (${sign}${weight} bits)`
    })
    .join(', ')
}

function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): Html {
  if (rows.length === 0) return html``
  const head = heads.every((text) => text === '') ? null : html`<tr>${heads.map((text) => html`<th>${text}</th>`)}</tr>`
  return html`<table>${head}${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</table>`
}
