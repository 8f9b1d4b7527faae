// Before anything is painted: the theme and the language of the last visit. A file of its own, because the policy of
// the page allows no inline script. Reads what src/preferences/preferences.ts writes.
try {
  const kept = JSON.parse(localStorage.getItem('vitrina.preferences') ?? '{}')
  const isDark =
    kept.theme === 'dark' || (kept.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.mantineColorScheme = isDark ? 'dark' : 'light'
  if (typeof kept.language === 'string') document.documentElement.lang = kept.language
} catch {
  // No storage, or nonsense in it: the defaults will do.
}
