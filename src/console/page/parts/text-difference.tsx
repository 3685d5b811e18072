// The difference of two texts, line by line. Loaded when the first difference is shown.
import { diffLines } from 'diff'

interface DifferenceLine {
  readonly sign: ' ' | '+' | '-'
  readonly text: string
}

/** Unchanged lines around a change. */
const CONTEXT_LINES = 3

/** The lines of both texts; null: lines without a change that are left out. */
function differenceLines(before: string, after: string): readonly (DifferenceLine | null)[] {
  const lines = diffLines(ended(before), ended(after)).flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, '')
      .split('\n')
      .map((text): DifferenceLine => ({ sign: added ? '+' : removed ? '-' : ' ', text })),
  )
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1).some(({ sign }) => sign !== ' '),
  )
  return lines.flatMap((line, at) => (isNear[at] ? [line] : isNear[at - 1] === false ? [] : [null]))
}

function ended(text: string): string {
  return text === '' ? '' : `${text}\n`
}

/** `label`: names the two texts. */
export default function TextDifference(props: {
  readonly label: string
  readonly before: string
  readonly after: string
}) {
  const { label, before, after } = props
  if (before === after) return <p class="quiet-text">Both are the same.</p>
  const lines = differenceLines(before, after)
  const titles = { '+': 'added', '-': 'removed', ' ': '' }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keyboard.
    <section class="difference" aria-label={label} tabIndex={0}>
      <pre>
        {lines.map((line, index) =>
          line === null ? (
            // Lines have no other identity.
            <span class="is-left-out" key={index}>
              …
            </span>
          ) : (
            // Lines have no other identity.
            <span key={index} class={line.sign === '+' ? 'is-added' : line.sign === '-' ? 'is-removed' : undefined}>
              <i aria-hidden="true">{line.sign}</i>
              {titles[line.sign] !== '' && <span class="visually-hidden">{titles[line.sign]}: </span>}
              {line.text}
            </span>
          ),
        )}
      </pre>
    </section>
  )
}
