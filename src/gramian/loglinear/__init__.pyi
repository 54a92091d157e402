from .loglinear_store import load as load
from .loglinear_store import save as save
from .rerank_model import RerankModel as RerankModel
from .reranker import MaxEntReranker as MaxEntReranker
from .span_crf import SpanCRF as SpanCRF
from .span_model import Expert as Expert
from .span_model import Posteriors as Posteriors
from .span_model import SpanModel as SpanModel
