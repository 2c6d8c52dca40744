from .cache import FeatureCache as FeatureCache
from .embedding import embed as embed
from .text_encoders import HashingEncoder as HashingEncoder
from .text_encoders import OpenAIEncoder as OpenAIEncoder
from .text_encoders import SentenceTransformerEncoder as SentenceTransformerEncoder
