// The fields of a policy.
import { useId } from 'preact/hooks'
import { call } from '../api.ts'
import { Combobox, type Suggestion } from '../parts/combobox.tsx'
import { CypherEditor } from '../parts/cypher-editor.tsx'
import { Icon } from '../parts/icon.tsx'
import type { FormTexts } from './document-kind.ts'
import { cypherFindings, type PolicyCheck } from './policy-check.ts'
import { policyVersions } from './policy-form.ts'
import { JsonField, TextField } from './shared-fields.tsx'

/** `onChange`: called with the changed fields. */
export function PolicyFields(props: {
  readonly projectId: string
  readonly form: FormTexts
  readonly check: PolicyCheck | null
  readonly isReadOnly: boolean
  readonly onChange: (members: FormTexts) => void
  readonly onSave: () => void
}) {
  const { projectId, form, check, isReadOnly, onChange, onSave } = props
  const id = useId()
  if (form.document) {
    return (
      <JsonField
        label="Document (JSON)"
        hint="The fields cannot hold this document without loss, so it is edited as text."
        value={form.document}
        rows={18}
        isReadOnly={isReadOnly}
        onInput={(document) => onChange({ document })}
      />
    )
  }
  const isContext = form.version === '1.0-ciq'
  const suggestTypes = async (text: string, signal: AbortSignal): Promise<readonly Suggestion[]> => {
    const { labels } = await call<{ readonly labels: readonly string[] }>('GET', '/graph/v1/names', {
      project: projectId,
      signal,
    })
    const wanted = text.trim().toLowerCase()
    return labels
      .filter((label) => !label.startsWith('_') && label.toLowerCase().includes(wanted) && label !== text)
      .slice(0, 20)
      .map((value) => ({ value }))
  }
  const typeField = (label: string, name: 'subject' | 'resource', placeholder: string) =>
    isReadOnly ? (
      <TextField label={label} value={form[name] ?? ''} isReadOnly onInput={() => undefined} />
    ) : (
      <Combobox
        label={label}
        value={form[name] ?? ''}
        placeholder={placeholder}
        onInput={(value) => onChange({ [name]: value })}
        suggest={suggestTypes}
        inputs={[projectId]}
      />
    )
  const others = (check?.findings ?? []).filter(({ start }) => start === null)
  return (
    <>
      <div class="policy-row">
        <div class="field">
          <label for={`${id}-version`}>Decides</label>
          <select
            id={`${id}-version`}
            value={form.version}
            disabled={isReadOnly}
            onChange={(event) => onChange({ version: event.currentTarget.value })}
          >
            {policyVersions.map(({ id: version, title }) => (
              <option key={version} value={version}>
                {title}, {version}
              </option>
            ))}
          </select>
        </div>
        {!isContext && (
          <div class="field">
            <label for={`${id}-effect`}>Effect</label>
            <select
              id={`${id}-effect`}
              value={form.effect}
              disabled={isReadOnly}
              onChange={(event) => onChange({ effect: event.currentTarget.value })}
            >
              <option value="permit">grants</option>
              <option value="forbid">forbids what others grant</option>
            </select>
          </div>
        )}
        {typeField('Subject type', 'subject', 'Person')}
        {!isContext && (
          <TextField
            label="Actions, with commas"
            value={form.actions ?? ''}
            placeholder="read, write"
            isReadOnly={isReadOnly}
            onInput={(actions) => onChange({ actions })}
          />
        )}
        {!isContext && typeField('Resource type', 'resource', 'Document')}
      </div>
      <CypherEditor
        label="Condition"
        value={form.cypher ?? ''}
        projectId={projectId}
        findings={cypherFindings(check)}
        isReadOnly={isReadOnly}
        rows={4}
        onInput={(cypher) => onChange({ cypher })}
        onRun={onSave}
      />
      {others.length > 0 && (
        <ul class="findings" aria-live="polite" aria-label="Findings in other fields">
          {others.map(({ member, message, severity }) => (
            <li key={`${member} ${message}`} class={`is-${severity}`}>
              <Icon name="warning" />
              <code>{member === '' ? 'document' : member}</code>
              <span>{message}</span>
            </li>
          ))}
        </ul>
      )}
      <details class="more" open={Boolean(form.filter || form.token_filter || form.allowed || isContext)}>
        <summary>{isContext ? 'Filters, allowed reads and writes' : 'Filter'}</summary>
        <div class="stack more-fields">
          <JsonField
            label={
              isContext
                ? 'Filter over the variables (JSON list)'
                : 'Filter over tokens, parameters and properties (JSON)'
            }
            hint={
              isContext
                ? ''
                : 'Such as { "attribute": "$token.sub", "operator": "=", "value": "$subject_external_id" }.'
            }
            value={form.filter ?? ''}
            rows={form.filter ? 8 : 3}
            isReadOnly={isReadOnly}
            onInput={(filter) => onChange({ filter })}
          />
          {isContext && (
            <>
              <JsonField
                label="Filter over the token (JSON)"
                value={form.token_filter ?? ''}
                rows={3}
                isReadOnly={isReadOnly}
                onInput={(token_filter) => onChange({ token_filter })}
              />
              <JsonField
                label="Allowed reads and writes (JSON)"
                hint='Such as { "allowed_reads": { "nodes": ["subject.external_id"] } }.'
                value={form.allowed ?? ''}
                rows={8}
                isReadOnly={isReadOnly}
                onInput={(allowed) => onChange({ allowed })}
              />
            </>
          )}
        </div>
      </details>
    </>
  )
}
