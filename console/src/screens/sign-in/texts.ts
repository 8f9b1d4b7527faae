import { defineTexts } from '../../i18n/texts.js'

export const signInTexts = defineTexts(
  {
    title: 'Sign in',
    lead: 'With a token of this server. It is exchanged for a session and not kept in the browser.',
    token: 'Token',
    submit: 'Sign in',
    where: 'The administrator’s token was shown at the first start and is kept in',
    orMake: 'Others are made with',
    language: 'Русский',
  },
  {
    title: 'Вход',
    lead: 'По токену этого сервера. Токен обменивается на сессию и в браузере не хранится.',
    token: 'Токен',
    submit: 'Войти',
    where: 'Токен администратора показан при первом запуске и лежит в',
    orMake: 'Остальные создаёт команда',
    language: 'English',
  },
)
