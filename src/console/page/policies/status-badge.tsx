// The status of a document.

const titles: Readonly<Record<string, string>> = { ACTIVE: 'active', DRAFT: 'draft', INACTIVE: 'inactive' }

/** The badge. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <span class={`badge is-${status.toLowerCase()}`}>{titles[status] ?? status}</span>
}
