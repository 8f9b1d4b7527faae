import { Button, Group, PasswordInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import { signIn } from '../../api/session.js'
import { Logo } from '../../app/shell/Logo.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { useLanguage, useTexts } from '../../i18n/texts.js'
import { setPreferences } from '../../preferences/preferences.js'
import styles from './sign-in.module.css'
import { signInTexts } from './texts.js'

export function SignInScreen() {
  const texts = useTexts(signInTexts)
  const language = useLanguage()
  useEffect(() => {
    document.title = `${texts.title} · Vitrina`
  }, [texts.title])
  return (
    <main className={styles.screen}>
      <Button
        className={styles.language}
        variant="subtle"
        color="gray"
        lang={language === 'en' ? 'ru' : 'en'}
        onClick={() => setPreferences({ language: language === 'en' ? 'ru' : 'en' })}
      >
        {texts.language}
      </Button>
      <section className={styles.card}>
        <Group className={styles.brand} gap={10} wrap="nowrap">
          <Logo size={26} />
          Vitrina
        </Group>
        <div>
          <h1>{texts.title}</h1>
          <p className={styles.lead}>{texts.lead}</p>
        </div>
        <TokenForm />
        <p className={styles.foot}>
          {texts.where} <code>.vitrina/api-token</code>. {texts.orMake} <code>vitrina tokens create</code>.
        </p>
      </section>
    </main>
  )
}

/** Uncontrolled: the token is only in the field and in the request. */
function TokenForm() {
  const texts = useTexts(signInTexts)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const token = String(new FormData(event.currentTarget).get('token') ?? '').trim()
    if (token === '') return
    setBusy(true)
    await signIn({ token }).catch(setError)
    setBusy(false)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <PasswordInput
        name="token"
        label={texts.token}
        size="sm"
        autoComplete="current-password"
        data-autofocus
        autoFocus
      />
      {error === null ? null : <ProblemCard error={error} />}
      <Button type="submit" size="sm" loading={isBusy}>
        {texts.submit}
      </Button>
    </form>
  )
}
