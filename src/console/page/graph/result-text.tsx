// The size of a result, its limits and warnings, and the result as JSON and as files.
import type { GraphRows } from '../graph-api.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { download } from '../parts/download.ts'
import { Icon } from '../parts/icon.tsx'
import { PlainText } from '../parts/plain-text.tsx'
import { csvText, jsonRows } from './result-files.ts'

const JSON_ROWS_MAX = 200
const JSON_MAX = 100_000

/** Rows, time, what was cut off, and the downloads. */
export function ResultHead({ result }: { readonly result: GraphRows }) {
  const { rows, columns, truncated, truncated_by, warnings = [], duration_ms } = result
  return (
    <div class="row result-head">
      <p role="status">
        <b>{count(rows.length, 'row')}</b>, {count(columns.length, 'column')} in {duration_ms.toFixed(1)} ms
      </p>
      <span>
        <button type="button" class="quiet" onClick={() => download('result.csv', csvText(result), 'text/csv')}>
          <Icon name="download" />
          CSV
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => download('result.json', `${jsonRows(result)}\n`, 'application/json')}
        >
          <Icon name="download" />
          JSON
        </button>
      </span>
      {truncated && (
        <p class="notice is-warn">
          <Icon name="warning" />
          <span>
            {truncated_by === 'size'
              ? 'The answer reached its maximum size (setting execute_answer_max). The query has more rows.'
              : 'The query has more rows than the limit.'}
          </span>
        </p>
      )}
      {warnings.map(({ message, line, column }) => (
        <p class="notice is-warn" key={`${line} ${column} ${message}`}>
          <Icon name="warning" />
          <span>
            Line {line}, column {column}: {message}
          </span>
        </p>
      ))}
    </div>
  )
}

/** `1 row`, `2 rows`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}

/** The result as JSON. */
export function ResultJson({ result }: { readonly result: GraphRows }) {
  const text = jsonRows(result, JSON_ROWS_MAX)
  return (
    <>
      {result.rows.length > JSON_ROWS_MAX && (
        <p class="notice">
          <span>The first {JSON_ROWS_MAX} rows. The download has all of them.</span>
        </p>
      )}
      <div class="code result-json">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
        <pre tabIndex={0}>
          <code>
            <PlainText text={text} max={JSON_MAX} />
          </code>
        </pre>
        <CopyButton text={text} label="Copy the JSON" />
      </div>
    </>
  )
}
