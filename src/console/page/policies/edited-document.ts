// A document in an editor: its stored revision, the text of the user, and what happens when both change. The text of the user is kept
// in the tab until it is stored or discarded, so that an ended session or a reload loses nothing.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, call, callForRevision, type RevisionAnswer, signIn } from '../api.ts'
import { useStore } from '../store.ts'
import { type DataState, useData } from '../use-data.ts'
import type { DocumentKindView, FormTexts, PageDocument } from './document-kind.ts'

/** A stored revision as fields. */
export interface StoredForm {
  readonly id: string
  readonly form: FormTexts
  readonly etag: string | null
  readonly revision: number
  readonly updateTime: string
  readonly updatedBy: string
}

/** The text of the user, and the revision that it changes; null: a new document. */
interface KeptEdit {
  readonly form: FormTexts
  readonly base: StoredForm | null
}

/** The state of an editor. */
export interface EditedDocument {
  readonly reading: DataState<StoredForm | null>
  /** The revision that the text changes; null: a new document. */
  readonly base: StoredForm | null
  readonly form: FormTexts
  readonly isChanged: boolean
  /** True: the text was typed before this view, for example before the session ended. */
  readonly isRestored: boolean
  readonly problems: readonly string[]
  readonly failure: Error | null
  /** The revision that another tab or person has stored since; null: none. */
  readonly conflict: StoredForm | null
  readonly isSaving: boolean
  change(members: FormTexts): void
  discard(): void
  /** Stores the text. Returns the id of a document that was created or changed; null: refused. */
  save(): Promise<string | null>
  /** Deletes the document. Returns whether it is gone. */
  remove(): Promise<boolean>
  /** Ends the conflict: the text of the user replaces the newer revision when it is saved, or is given up. */
  resolve(keep: 'mine' | 'theirs'): void
}

/** Where the tab keeps a text. Another account of the same browser does not see it. */
function storageKey(account: string, projectId: string, path: string, id: string): string {
  return `verdigraph-edit ${account} ${projectId} ${path} ${id}`
}

function keptIn(key: string): KeptEdit | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') as KeptEdit | null
  } catch {
    return null
  }
}

/** The stored revision of an answer. */
export function storedForm<T extends PageDocument>(
  kind: DocumentKindView<T>,
  { value, etag, revision }: RevisionAnswer<T>,
): StoredForm {
  const { id, update_time: updateTime, updated_by: updatedBy } = value
  return { id, form: kind.formOf(value), etag, revision, updateTime, updatedBy }
}

/** The path of a document. */
export function documentPath({ path }: { readonly path: string }, id: string): string {
  return `/configs/v1/${path}/${encodeURIComponent(id)}`
}

function differs(form: FormTexts, before: FormTexts): boolean {
  return Object.keys(form).some((name) => form[name] !== before[name])
}

/** Edits a document. `id`: `new` for a new one. */
export function useEditedDocument<T extends PageDocument>(
  projectId: string,
  kind: DocumentKindView<T>,
  id: string,
): EditedDocument {
  const signed = useStore(signIn)
  const account = signed.kind === 'signed-in' ? signed.session.service_account_id : ''
  const key = storageKey(account, projectId, kind.path, id)
  const [kept, renderKept] = useState<KeptEdit | null>(() => keptIn(key))
  // Keys may be faster than a render: the next change begins with this text.
  const latest = useRef(kept)
  const setKept = (next: KeptEdit | null): void => {
    latest.current = next
    renderKept(next)
  }
  const [isRestored, setRestored] = useState(kept !== null)
  const [problems, setProblems] = useState<readonly string[]>([])
  const [failure, setFailure] = useState<Error | null>(null)
  const [conflict, setConflict] = useState<StoredForm | null>(null)
  const [isSaving, setSaving] = useState(false)
  const read = async (signal?: AbortSignal): Promise<StoredForm> =>
    storedForm(kind, await callForRevision<T>('GET', documentPath(kind, id), signal === undefined ? {} : { signal }))
  const reading = useData<StoredForm | null>(id === 'new' ? null : read, [kind, id])

  const base = kept === null ? reading.value : kept.base
  const form = kept?.form ?? base?.form ?? kind.empty
  const before = base?.form ?? kind.empty
  const isChanged = differs(form, before)

  useEffect(() => {
    if (kept === null || !isChanged) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, JSON.stringify(kept))
  }, [kept, isChanged])

  const current = (): KeptEdit => latest.current ?? { form, base }
  const change = (members: FormTexts): void => setKept({ ...current(), form: { ...current().form, ...members } })
  const discard = (): void => {
    setKept(null)
    setRestored(false)
    setProblems([])
    setFailure(null)
    setConflict(null)
    reading.reload()
  }
  const refuse = async (refused: Error): Promise<void> => {
    if (refused instanceof ApiError && refused.status === 412) {
      setConflict(await read())
      return
    }
    setFailure(refused)
  }
  const send = async ({ form, base }: KeptEdit, body: Readonly<Record<string, unknown>>): Promise<string> => {
    if (base !== null) {
      await call('PUT', documentPath(kind, base.id), { body, ifMatch: base.etag })
      return base.id
    }
    // An empty text removes a member, which a new document does not have.
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== ''))
    const created = await call<{ readonly id: string }>('POST', `/configs/v1/${kind.path}`, {
      body: { ...given, project_id: projectId, name: form.name?.trim() },
    })
    return created.id
  }
  const save = async (): Promise<string | null> => {
    const sent = current()
    if (sent.base !== null && !differs(sent.form, sent.base.form)) return null
    const made = kind.bodyOf(sent.form)
    const missing = sent.form.name?.trim() ? [] : ['Name: write a name.']
    const found = 'problems' in made ? [...missing, ...made.problems] : missing
    setProblems(found)
    setFailure(null)
    if ('problems' in made || found.length > 0) return null
    setSaving(true)
    try {
      const stored = await send(sent, made.body)
      if (id === 'new') sessionStorage.removeItem(key)
      setRestored(false)
      if (id !== 'new') {
        const now = await read()
        // Text that was typed since then is kept.
        setKept({
          form: latest.current?.form === sent.form || latest.current === null ? now.form : latest.current.form,
          base: now,
        })
      }
      return stored
    } catch (refused) {
      await refuse(refused as Error).catch((other: Error) => setFailure(other))
      return null
    } finally {
      setSaving(false)
    }
  }
  const remove = async (): Promise<boolean> => {
    if (base === null) return false
    try {
      await call('DELETE', documentPath(kind, base.id), { ifMatch: base.etag })
      sessionStorage.removeItem(key)
      return true
    } catch (refused) {
      await refuse(refused as Error).catch((other: Error) => setFailure(other))
      return false
    }
  }
  const resolve = (keep: 'mine' | 'theirs'): void => {
    if (conflict === null) return
    setKept({ form: keep === 'mine' ? current().form : conflict.form, base: conflict })
    setConflict(null)
  }
  return {
    ...{ reading, base, form, isChanged, isRestored, problems, failure, conflict, isSaving },
    ...{ change, discard, save, remove, resolve },
  }
}
